package queue_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// A job that is leased in the very moment of a cordon: whichever comes first, a
// listing that isn't older than the acknowledgement shows the lease, or there is
// none and never will be. Otherwise a host with a job on it could be proven idle.
func TestALeaseInTheMomentOfACordonIsShownOrRefused(t *testing.T) {
	s := serve(t)
	credential := s.credential("r1")
	shown, refused := 0, 0
	for n := range 1000 {
		if _, err := s.Uncordon("r1"); err != nil {
			t.Fatal(err)
		}
		// Half of the time the worker waits already when the job comes.
		waits := n%2 == 0
		if !waits {
			s.submit(queue.Submission{})
		}
		path, status, body := fmt.Sprintf("/v1/runners/r1/leases/l%d", n), 0, ""
		var both sync.WaitGroup
		both.Go(func() { status, body = s.call(credential, "PUT", path, `{"session":"s","wait_seconds":0.02}`) })
		if waits {
			both.Go(func() { s.submit(queue.Submission{}) })
		}
		ack, err := s.manager.Stop(t.Context(), r1, scheduler.StopOrder{Cause: "scale_down"})
		if err != nil {
			t.Fatal(err)
		}
		listing, err := s.manager.Runners(t.Context())
		if err != nil || listing.Revision < ack.Revision {
			t.Fatalf("a listing of %d after an acknowledgement of %d, %v", listing.Revision, ack.Revision, err)
		}
		both.Wait()
		var lease worker.Lease
		if status == 200 {
			if err := json.Unmarshal([]byte(body), &lease); err != nil {
				t.Fatal(err)
			}
		}
		leases := listing.Runners[0].Leases
		switch {
		case status == 200 && leases == 1:
			shown++
			if err := s.Finish("r1", fmt.Sprintf("l%d", n), worker.Result{}); err != nil {
				t.Fatal(err)
			}
		case status == 204 && leases == 0:
			refused++
			waiting := s.List().Jobs
			if _, err := s.Cancel(waiting[len(waiting)-1].ID); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf(
				"try %d: the worker got %d %s, and the listing after the acknowledgement shows %d leases",
				n,
				status,
				body,
				leases,
			)
		}
	}
	t.Logf("%d leases came before the cordon, %d after it", shown, refused)
	if shown == 0 || refused == 0 {
		t.Error("it never was close")
	}
}
