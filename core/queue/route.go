package queue

import (
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// route is one call: what the server answers by and what the document of the
// contract is made from.
type route struct {
	method, path string
	// says is what the call does, in a line.
	says string
	// ofRunner says that it takes the credential of the runner in the path.
	ofRunner bool
	// takes and gives are values of the bodies' types; nil: there is no body.
	takes, gives any
	// also is a status without a body that the call answers beside its usual one.
	also int
	// answer returns the status and the body; one that is text goes out as it is.
	answer func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)
}

func (s *Server) routes() []route {
	return []route{
		{method: "GET", path: forgeyard.DemandPath, says: "The jobs that wait, by what they want, and the runners, as of one revision.", gives: forgeyard.Demand{}, also: http.StatusNotModified, answer: s.demand},
		{method: "GET", path: forgeyard.RunnersPath, says: "The runners with their leases, as of one revision.", gives: forgeyard.Runners{}, also: http.StatusNotModified, answer: s.runners},
		{method: "PUT", path: "/v1/runners/{runner}", says: "Admit a verified runner.", takes: forgeyard.Admit{}, gives: forgeyard.Admitted{}, answer: s.admit},
		{method: "DELETE", path: "/v1/runners/{runner}", says: "Forget a runner; jobs that it still has are run again.", answer: s.remove},
		{method: "POST", path: "/v1/runners/{runner}/cordon", says: "Give a runner no new lease from the answered revision on.", takes: forgeyard.Cordon{}, gives: forgeyard.Acknowledgement{}, answer: s.cordon},
		{method: "POST", path: "/v1/runners/{runner}/uncordon", says: "Give a runner leases again.", gives: forgeyard.Acknowledgement{}, answer: s.uncordon},
		{method: "POST", path: "/v1/jobs", says: "Put a job into the queue.", takes: Submission{}, gives: Job{}, answer: s.submit},
		{method: "GET", path: "/v1/jobs", says: "All jobs, the oldest first.", gives: Jobs{}, also: http.StatusNotModified, answer: s.jobs},
		{method: "GET", path: "/v1/jobs/{job}", says: "One job.", gives: Job{}, answer: s.job},
		{method: "GET", path: "/v1/jobs/{job}/log", says: "The end of a job's output.", gives: "", answer: s.log},
		{method: "DELETE", path: "/v1/jobs/{job}", says: "Cancel a job.", gives: Job{}, answer: s.cancel},
		{method: "PUT", path: "/v1/runners/{runner}/leases/{lease}", says: "Ask for a job under an id that the worker makes up; 204: there was none.", ofRunner: true, takes: worker.LeaseRequest{}, gives: worker.Lease{}, also: http.StatusNoContent, answer: s.lease},
		{method: "DELETE", path: "/v1/runners/{runner}/leases/{lease}", says: "Give a lease back whose job was not begun.", ofRunner: true, answer: s.giveBack},
		{method: "POST", path: "/v1/runners/{runner}/leases/{lease}/renew", says: "Keep a lease, and hear orders for its job.", ofRunner: true, takes: worker.RenewRequest{}, gives: worker.Orders{}, answer: s.renew},
		{method: "POST", path: "/v1/runners/{runner}/leases/{lease}/finish", says: "Deliver a job's result.", ofRunner: true, takes: worker.Result{}, answer: s.finish},
	}
}
