package libvirt

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestEventsSurviveDaemonRestart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	ctx, end := context.WithCancel(t.Context())
	told := make(chan string, 1000)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for notice, err := range p.Watch(ctx) {
			if err != nil || notice.Kind != provider.StateChange || notice.ID == "" {
				t.Errorf("heard %+v, %v", notice, err)
			}
			told <- notice.Instance
		}
	}()
	hear := func(what, id string) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case got := <-told:
				if got == id {
					return
				}
			case <-deadline:
				t.Fatalf("%s isn't heard of", what)
			}
		}
	}
	// A subscription says nothing when it begins: machines come until one is heard.
	first := 0
	eventually(t, "the watch hears", func() bool {
		first++
		key := "f" + strconv.Itoa(first)
		provision(t, p, key)
		terminate(t, p, "a/"+key, key)
		return len(told) > 0
	})
	provision(t, p, "k1")
	hear("a start", "a/k1")
	provision(t, p, "k2")
	hear("a start", "a/k2")
	l.do(t, func(c *api.Libvirt) error {
		domain, err := c.DomainLookupByName("k1")
		if err == nil {
			err = c.DomainDestroy(domain)
		}
		return err
	})
	hear("an end", "a/k1")
	l.define(t, foreign("somebodys", ""))

	// While the daemon is away, the other machine ends: no event is ever sent.
	l.tell(t, "signal 9")
	l.tell(t, "ended")
	for len(told) > 0 {
		if id := <-told; strings.Contains(id, "somebodys") {
			t.Errorf("a foreign's domain is told of: %s", id)
		}
	}
	l.killMachine(t, "k2")
	l.tell(t, "start")
	hear("an end that no event told of", "a/k2")

	terminate(t, p, "a/k1", "k1")
	hear("a removal", "a/k1")
	terminate(t, p, "a/k2", "k2")
	end()
	<-over
}

// killMachine ends the process of a machine of the lab.
func (l *lab) killMachine(t *testing.T, name string) {
	t.Helper()
	pid := l.processOf(t, name)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the machine's process is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}

// processOf is the process of a machine of the lab.
func (l *lab) processOf(t *testing.T, name string) (pid int) {
	t.Helper()
	processes, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		pid, err := strconv.Atoi(process.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + process.Name() + "/cmdline")
		if strings.Contains(string(line), "guest="+name+",") && strings.Contains(string(line), l.dir+"/") {
			return pid
		}
	}
	t.Fatalf("there is no process of the machine %s", name)
	return 0
}

func TestAWatchThatNobodyHearsAnyMoreEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range p.Watch(t.Context()) {
			return
		}
	}()
	number := 0
	eventually(t, "the watch has heard something and ended", func() bool {
		number++
		key := "k" + strconv.Itoa(number)
		provision(t, p, key)
		terminate(t, p, "a/"+key, key)
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
}
