package agentserver

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// refusing is a refusal log whose clock and lines a test has.
type refusing struct {
	*refusalLog
	clock time.Time
	out   bytes.Buffer
}

func newRefusing() *refusing {
	r := &refusing{clock: time.Unix(1000, 0)}
	r.refusalLog = newRefusalLog(slog.New(slog.NewTextHandler(&r.out, nil)), func() time.Time { return r.clock })
	return r
}

// lines gives what was logged since the last call.
func (r *refusing) lines() []string {
	defer r.out.Reset()
	return strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
}

func TestTenThousandRefusedCallsAMinuteAreTwoLines(t *testing.T) {
	r := newRefusing()
	for range 10_000 {
		r.note(
			agentapi.HeartbeatPath,
			"10.0.0.1",
			tryLater("the manager can't reach its store").with("doing", "read a runner"),
		)
		r.clock = r.clock.Add(6 * time.Millisecond)
	}
	if got := r.lines(); len(got) != 1 || !strings.Contains(got[0], "level=ERROR") ||
		!strings.Contains(got[0], `doing="read a runner"`) {
		t.Fatalf("the first minute's lines are\n%s", strings.Join(got, "\n"))
	}
	r.clock = r.clock.Add(time.Second)
	r.pass()
	if got := r.lines(); len(got) != 1 || !strings.Contains(got[0], "calls=9999") ||
		!strings.Contains(got[0], "level=ERROR") {
		t.Fatalf("afterwards the lines are\n%s", strings.Join(got, "\n"))
	}
	r.clock = r.clock.Add(refusalEvery + time.Second)
	r.pass()
	if got := r.lines(); len(got) != 1 || !strings.Contains(got[0], "answered again") || len(r.kinds) != 0 {
		t.Errorf("after a quiet minute the lines are\n%s", strings.Join(got, "\n"))
	}
}

func TestADifferentRefusalIsLoggedAtOnce(t *testing.T) {
	r := newRefusing()
	stranger := &refusal{status: 401, code: agentapi.CodeUnknownRunner, detail: "no certificate"}
	for range 3 {
		r.note(agentapi.HeartbeatPath, "10.0.0.1", stranger)
		r.note(
			agentapi.EnrollPath,
			"10.0.0.2",
			forbidden(agentapi.CodeTokenUnknown, "not ours").with("operation", fleet.OperationID("claimed")),
		)
		r.note(agentapi.HeartbeatPath, "10.0.0.3", ended("over").with("instance", fleet.CapacityInstanceID("one")))
		r.note(agentapi.HeartbeatPath, "10.0.0.4", ended("over").with("instance", fleet.CapacityInstanceID("two")))
	}
	if got := r.lines(); len(got) != 4 {
		t.Errorf("the lines are\n%s", strings.Join(got, "\n"))
	}
	r.close()
	if got := r.lines(); len(got) != 4 || strings.Count(strings.Join(got, ""), "calls=2") != 4 {
		t.Errorf("at the end the lines are\n%s", strings.Join(got, "\n"))
	}
}

func TestAFleetThatIsRefusedAsAWholeIsFewLines(t *testing.T) {
	r := newRefusing()
	for n := range 10 * mostRefusalKinds {
		r.note(agentapi.HeartbeatPath, "10.0.0.1", ended("over").with("instance", fleet.CapacityInstanceID(fmt.Sprint(n))))
	}
	if got := r.lines(); len(got) > mostRefusalKinds+1 {
		t.Errorf("there are %d lines", len(got))
	}
}

func TestRefusalsAreLoggedAfterTheClockIsSetBack(t *testing.T) {
	r := newRefusing()
	for range 2 {
		r.note(agentapi.RenewPath, "10.0.0.1", badRequest("junk"))
	}
	r.lines()
	r.clock = r.clock.Add(-time.Hour)
	r.pass()
	if got := r.lines(); len(got) != 1 || !strings.Contains(got[0], "calls=1") {
		t.Errorf("the lines are %q", got)
	}
}

func BenchmarkNoteARefusal(b *testing.B) {
	r := newRefusing()
	no := tryLater("the manager can't reach its store").with("doing", "read a runner")
	for b.Loop() {
		r.note(agentapi.HeartbeatPath, "10.0.0.1", no)
	}
}
