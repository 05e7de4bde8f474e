package queue

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/forgeyard/forgeyard-fleet/core/problem"
	_ "github.com/forgeyard/forgeyard-fleet/core/problem/humaerror" // huma's refusals are problems
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler/forgeyard"
)

// route is one call of the contract.
type route struct {
	method, path string
	// summary is what the call does, in a line.
	summary string
	// ofRunner says that it takes the credential of the runner in the path.
	ofRunner bool
	// takes is a value of the body's type, which the handler decodes itself: unknown members
	// are refused with their place, and a null is like an absent member. nil: no body.
	takes any
	// text says that the answer is plain text.
	text bool
	// status is that of success; 0: 200, or 204 without a body.
	status int
	// also is a status without a body that the call answers besides.
	also int
}

func (s *Server) addRoutes() {
	add(s, route{method: "GET", path: forgeyard.DemandPath,
		summary: "The queued jobs by requirement, and the runners, as of one revision.",
		also:    http.StatusNotModified}, s.demand)
	add(s, route{method: "GET", path: forgeyard.RunnersPath, summary: "The runners with their leases, as of one revision.",
		also: http.StatusNotModified}, s.runners)
	add(s, route{method: "PUT", path: "/v1/runners/{runner}", summary: "Admit a verified runner.",
		takes: forgeyard.Admit{}}, s.admit)
	add(s, route{method: "DELETE", path: "/v1/runners/{runner}",
		summary: "Remove a runner; jobs that it still has are run again."}, s.remove)
	add(s, route{method: "POST", path: "/v1/runners/{runner}/cordon",
		summary: "Give a runner no new lease from the answered revision on.", takes: forgeyard.Cordon{}}, s.cordon)
	add(s, route{method: "POST", path: "/v1/runners/{runner}/uncordon", summary: "Give a runner leases again."},
		s.uncordon)
	add(s, route{method: "POST", path: "/v1/jobs", summary: "Submit a job.", takes: Submission{},
		status: http.StatusCreated}, s.submit)
	add(s, route{method: "GET", path: "/v1/jobs", summary: "All jobs, the oldest first.", also: http.StatusNotModified},
		s.jobs)
	add(s, route{method: "GET", path: "/v1/jobs/{job}", summary: "One job."}, s.job)
	add(s, route{method: "GET", path: "/v1/jobs/{job}/log", summary: "The end of a job's output.", text: true}, s.log)
	add(s, route{method: "DELETE", path: "/v1/jobs/{job}", summary: "Cancel a job."}, s.cancel)
	add(s, route{method: "PUT", path: "/v1/runners/{runner}/leases/{lease}", ofRunner: true, takes: worker.LeaseRequest{},
		summary: "Request a job under an id that the worker chooses; 204: there was none.", also: http.StatusNoContent},
		s.lease)
	add(s, route{method: "DELETE", path: "/v1/runners/{runner}/leases/{lease}", ofRunner: true,
		summary: "Return a lease whose job was not started."}, s.giveBack)
	add(s, route{method: "POST", path: "/v1/runners/{runner}/leases/{lease}/renew", ofRunner: true,
		takes:   worker.RenewRequest{},
		summary: "Renew a lease, and get orders for its job."}, s.renew)
	add(s, route{method: "POST", path: "/v1/runners/{runner}/leases/{lease}/finish", ofRunner: true,
		takes:   worker.Result{},
		summary: "Deliver a job's result."}, s.finish)
}

// The inputs of the calls.
type (
	noInput   struct{}
	listInput struct {
		IfNoneMatch string `header:"If-None-Match" doc:"The ETag of an earlier answer: if it still holds, the answer is 304."`
	}
	runnerInput struct {
		Runner string `path:"runner"`
	}
	runnerBody struct {
		Runner  string `path:"runner"`
		RawBody []byte `contentType:"application/json"`
	}
	removeInput struct {
		Runner string `path:"runner"`
		Reason string `query:"reason"`
	}
	jobInput struct {
		Job string `path:"job"`
	}
	jobBody struct {
		RawBody []byte `contentType:"application/json"`
	}
	leaseInput struct {
		Runner string `path:"runner"`
		Lease  string `path:"lease"`
	}
	leaseBody struct {
		Runner  string `path:"runner"`
		Lease   string `path:"lease"`
		RawBody []byte `contentType:"application/json"`
	}
)

// answer is a JSON value, or no body where Status is 204.
type answer[T any] struct {
	Status       int
	CacheControl string `header:"Cache-Control"`
	Location     string `header:"Location"`
	Body         T
}

// listAnswer is a JSON value as of a revision, or no body where Status is 304.
type listAnswer[T any] struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         T
}

// textAnswer is plain text.
type textAnswer struct {
	ContentType string `header:"Content-Type"`
	Options     string `header:"X-Content-Type-Options"`
	Body        []byte
}

// add makes a route known to the server and to the document of the contract.
func add[In, Out any](s *Server, r route, do func(context.Context, *In) (*Out, error)) {
	op := huma.Operation{
		OperationID: operationOf(r), Method: r.method, Path: r.path, Summary: r.summary, Tags: []string{tagOf(r)},
		DefaultStatus: r.status,
		MaxBodyBytes:  maxBodyBytes, SkipValidateBody: true, // the handlers decode bodies themselves
		BodyReadTimeout: -1, // a call may wait, and the deadline would end it
		Metadata:        map[string]any{routeKey: r},
		Responses:       map[string]*huma.Response{"default": s.failure()},
	}
	if r.ofRunner {
		op.Security = []map[string][]string{{runnerScheme: {}}}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *In) (*Out, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return out, nil
	})
	s.document(r)
}

// failure documents the problems of a call.
func (s *Server) failure() *huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem.Problem](), true, "")
	return &huma.Response{Description: "A problem (RFC 9457).",
		Content: map[string]*huma.MediaType{problem.MediaType: {Schema: schema}}}
}

func tagOf(r route) string {
	switch {
	case r.ofRunner:
		return "work"
	case strings.HasPrefix(r.path, "/v1/jobs"):
		return "jobs"
	}
	return "contract"
}

// operationOf names a call after its method and path: put-runners-runner-leases-lease.
func operationOf(r route) string {
	path := strings.NewReplacer("/v1", "", "/", "-", "{", "", "}", "").Replace(r.path)
	return strings.ToLower(r.method) + path
}
