//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// mockProgram builds the vendor's own mock of its metadata service, once, at the
// version that its module here names.
var mockProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(bin, "ec2-metadata-mock")
	return program, build("metadatamock", "github.com/aws/amazon-ec2-metadata-mock/cmd/ec2-metadata-mock", program)
})

// metadataMock is where the mock answers. It knows what it announces from its start
// on, so another announcement is another process, which knows no earlier token.
type metadataMock struct {
	w       *workspace
	program string
	host    string
	port    string
	running *command
}

func (w *workspace) metadataMock() *metadataMock {
	w.t.Helper()
	program, err := mockProgram()
	if err != nil {
		w.t.Fatal(err)
	}
	m := &metadataMock{w: w, program: program}
	m.host, m.port, _ = net.SplitHostPort(freeAddress(w.t))
	m.announce()
	return m
}

const (
	now   = "0"
	never = "1000000" // seconds
)

// announce has the mock say this from now on, and nothing else.
func (m *metadataMock) announce(what ...string) {
	m.w.t.Helper()
	if m.running != nil {
		m.running.kill()
	}
	if len(what) == 0 {
		what = []string{"spot", "--mock-delay-sec", never, "--rebalance-delay-sec", never}
	}
	// Its default is every address.
	args := append(what, "--imdsv2", "--hostname", m.host, "--port", m.port)
	eventually(m.w.t, "see the mock answer", func() bool {
		if m.running == nil || m.running.hasEnded() {
			m.running = m.w.begin(exec.Command(m.program, args...), nil, args...)
			m.running.limit.Stop()
		}
		return m.answers()
	})
}

// answers says whether the mock does, and insists that it takes no request without a
// token.
func (m *metadataMock) answers() bool {
	response, err := http.Get("http://" + net.JoinHostPort(m.host, m.port) + "/latest/meta-data/instance-id")
	if err != nil {
		return false
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		m.w.t.Fatalf("the mock answers %s to a request without a token", response.Status)
	}
	return true
}

// What the vendor's own mock of its metadata service announces reaches the manager by
// a real agent, by IMDSv2 alone, each time of a service that has forgotten the agent's
// token.
func TestWhatAWSsOwnMetadataMockAnnouncesIsHeardAndActedOn(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	mock := w.metadataMock()
	ran, end := w.path("ran"), w.path("end")
	w.write(definition{min: 1, max: 1,
		instance: fmt.Sprintf("env = {\n      FORGEYARD_RUNNER_METADATA = \"aws http://%s:%s\"\n    }", mock.host, mock.port),
		command:  fmt.Sprintf(`echo "$FORGEYARD_HOST_INTERRUPTION" >>%s; until [ -e %s ]; do sleep 0.05; done`, ran, end),
	}.String())
	w.install()
	daemon := w.served()
	daemon.limit.Stop()
	w.apply(0)
	eventually(t, "see the job run", func() bool { return exists(ran) })
	first := w.instances()[0]
	show := func() string { return w.fleet(0, "instance", "show", first.ID).out }
	if out := show(); strings.Contains(out, "AWS") {
		t.Fatalf("nothing was announced, and instance show says:\n%s", out)
	}
	for _, c := range []struct {
		name      string
		announced []string
		texts     []string
	}{
		{"rebalance", []string{"spot", "--mock-delay-sec", never, "--rebalance-delay-sec", now},
			[]string{"draining", "AWS recommends to rebalance"}},
		{"spot", []string{"spot", "--mock-delay-sec", now, "--rebalance-delay-sec", now, "--time",
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339)},
			[]string{"draining", "takes it away", "AWS spot: terminate"}},
	} {
		mock.announce(c.announced...)
		eventually(t, "hear of "+c.name, func() bool {
			out := show()
			for _, text := range c.texts {
				if !strings.Contains(out, text) {
					return false
				}
			}
			return true
		})
	}
	file := strings.TrimSpace(w.read("ran"))
	if content, err := os.ReadFile(file); err != nil || !strings.Contains(string(content), "AWS spot: terminate") {
		t.Errorf("the job's file of the host's end says %q, %v", content, err)
	}
	// Before the next host asks, the mock has nothing to say.
	mock.announce()
	touch(t, end)
	eventually(t, "see another host in its place", func() bool {
		all := w.instances()
		return len(all) == 1 && all[0].ID != first.ID && all[0].State == "healthy"
	})
	daemon.stop()
}

// Scheduled work has its own form and its own words for times.
func TestScheduledMaintenanceOfAWSsOwnMetadataMockDrainsItsHost(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	mock := w.metadataMock()
	w.write(definition{min: 1, max: 1,
		instance: fmt.Sprintf("env = {\n      FORGEYARD_RUNNER_METADATA = \"aws http://%s:%s\"\n    }", mock.host, mock.port),
		command:  fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.05; done", w.path("ran"), w.path("end")),
	}.String())
	w.install()
	daemon := w.served()
	daemon.limit.Stop()
	w.apply(0)
	eventually(t, "see the job run", func() bool { return exists(w.path("ran")) })
	id := w.instances()[0].ID
	// Far from the next minute: it travels as a duration.
	at := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Hour).Add(30 * time.Second)
	mock.announce("events", "--code", "system-reboot", "--state", "active", "--not-before", at.Format(time.RFC3339))
	eventually(t, "see the host drain for the work", func() bool {
		out := w.fleet(0, "instance", "show", id).out
		return strings.Contains(out, "draining") && strings.Contains(out, "AWS: system-reboot") &&
			strings.Contains(out, at.Format("2006-01-02 15:04"))
	})
	mock.announce()
	touch(t, w.path("end"))
	eventually(t, "see another host in its place", func() bool {
		all := w.instances()
		return len(all) == 1 && all[0].ID != id && all[0].State == "healthy"
	})
	daemon.stop()
}
