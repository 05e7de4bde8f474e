package libvirt

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestAPromiseIsCountedUntilItsMachineIsSeenAndNeverBesideIt(t *testing.T) {
	p, h, one := newPlacement(), &host{name: "a"}, need{1, 1 << 30}
	taken := func(since int, keys ...string) int {
		r := room{host: h, devices: map[string]bool{}, keys: map[string]bool{}}
		for _, key := range keys {
			r.keys[key] = true
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.withPromises(&r, since)
		return r.used.vcpus
	}
	ends := func(since int) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.lookEnds(since)
	}
	hosts := &hosts{placement: p}
	p.promised["k1"] = promise{host: h, need: one}
	before := p.lookBegins()
	if n := taken(before); n != 1 {
		t.Errorf("a machine that isn't made yet is counted %d times", n)
	}
	if n := taken(before, "k1"); n != 0 {
		t.Errorf("a promise whose machine is seen is counted %d times beside it", n)
	}
	hosts.placed("k1", true)
	after := p.lookBegins()
	if n := taken(before); n != 1 {
		t.Errorf("a machine that came after the look began is counted %d times", n)
	}
	if n := taken(after); n != 0 {
		t.Errorf("a machine that was there before the look, and isn't seen, is counted %d times", n)
	}
	ends(after)
	if n := taken(before); n != 1 {
		t.Errorf("while an earlier inspection is under way, it is counted %d times", n)
	}
	ends(before)
	p.promised["k2"] = promise{host: h, need: one}
	hosts.placed("k2", false)
	if len(p.promised) > 0 || len(p.looks) > 0 {
		t.Errorf("remembered are %+v, %v", p.promised, p.looks)
	}
}

// Requests come when others have just been made, are being made, or were refused:
// each sees some machines, and is promised beside others.
func TestAsManyMachinesAsFitAreMadeSideBySideAndNoneMore(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	block := l.blockHost("a")
	block.VCPUs = 5
	p := giving(t, plenty, newTestHosts(t, block))
	var making sync.WaitGroup
	var mutex sync.Mutex
	made, refusals := 0, 0
	for n := range 7 {
		making.Go(func() {
			_, err := p.Provision(t.Context(), requestFor(fmt.Sprintf("k%d", n), idle()))
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case err == nil:
				made++
			case provider.IsNotCreated(err) && strings.Contains(err.Error(), "5 of 5 processors"):
				refusals++
			default:
				t.Error(err)
			}
		})
		// The next comes when this one is seen: its promise lives on beside it.
		eventually(t, "the request is under way", func() bool {
			g, err := p.all[0].guest(t.Context(), fmt.Sprintf("k%d", n))
			mutex.Lock()
			defer mutex.Unlock()
			return err == nil && g != nil || refusals > 0
		})
	}
	making.Wait()
	if made != 5 || refusals != 2 {
		t.Errorf("%d were made and %d refused", made, refusals)
	}
	for _, one := range instances(list(t, p)) {
		terminate(t, p, one.ID, one.Key)
	}
	l.shouldBeEmpty(t)
}
