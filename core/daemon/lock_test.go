package daemon

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// A look at the lock at the wrong moment made apply say that somebody
// held it.
func TestLookingDoesNotKeepAManagerFromStarting(t *testing.T) {
	o := workspacetest.Options(t)
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					Held(o.Place.State)
				}
			}
		})
	}
	defer looking.Wait()
	defer close(stop)
	for range 20 {
		l, err := takeWriterLock(o.Place.State, Holder{PID: os.Getpid(), Command: "test", Since: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.release(); err != nil {
			t.Fatal(err)
		}
	}
}
