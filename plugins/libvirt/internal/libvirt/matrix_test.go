package libvirt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// giving reconnects and gives daemons so much time: little where one hangs, and
// plenty where the machine that runs the tests may be slow.
func giving(t *testing.T, limit time.Duration, p *hosts) *hosts {
	t.Helper()
	for _, h := range p.all {
		target, err := daemon.ParseTarget(h.Target())
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		limits := daemon.Limits{Connect: limit, Call: limit, Settle: 500 * time.Millisecond}
		h.Daemon, h.ending = daemon.New(h.name, target, limits), daemon.New(h.name, target, limits)
	}
	return p
}

const (
	plenty = 30 * time.Second
	little = 4 * time.Second
)

// settled does what the manager does about a request without a certain answer: it
// looks until it sees the whole, adopts what is there, and sends the same request
// again where nothing is.
func settled(t *testing.T, p *hosts, key string) provider.Resource {
	t.Helper()
	for range 20 {
		var found []provider.Resource
		complete := true
		for resource, err := range p.Inspect(t.Context(), provider.Query{Keys: []string{key}}) {
			if err != nil {
				complete = false
			} else if resource.Kind == "" && resource.Key == key {
				found = append(found, resource)
			}
		}
		if len(found) > 1 {
			t.Fatalf("two machines of one key: %+v", found)
		}
		if len(found) == 1 && found[0].State != provider.Pending {
			return found[0]
		}
		if !complete {
			continue
		}
		if made, err := p.Provision(t.Context(), requestFor(key, idle())); err == nil {
			return made
		}
	}
	t.Fatalf("the request %s is never settled", key)
	panic("unreachable")
}

// ended does the same about a removal.
func ended(t *testing.T, p *hosts, id, key string) {
	t.Helper()
	for range 20 {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key}); err == nil && state == provider.Gone {
			return
		}
	}
	t.Fatalf("%s never ends", id)
}

// Every call that a machine's life takes, under every fault: in the end there is
// exactly one machine, and after its removal nothing.
func TestWhateverBecomesOfACallThereIsOneMachineAndThenNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	way := l.troubledWay(t)
	block := l.blockHost("a")
	block.URI = "qemu:///system?socket=" + way.socket
	number := 0
	for _, call := range []struct {
		name      string
		procedure uint32
		ends      bool // it belongs to the end of a machine's life
	}{
		{"define", procDefine, false}, {"make a volume", procVolumeCreate, false}, {"upload", procUpload, false},
		{"mark as started", procMark, false}, {"start", procCreate, false},
		{"mark as terminating", procMark, true}, {"power off", procDestroy, true},
		{"remove a volume", procVolumeDelete, true}, {"undefine", procUndefine, true},
	} {
		for name, f := range map[string]fault{"never sent": neverSent, "answer lost": answerLost} {
			t.Run(call.name+", "+name, func(t *testing.T) {
				if f == neverSent ||
					call.procedure != procDefine && call.procedure != procCreate && call.procedure != procUndefine {
					needLong(t) // three of them speak for all
				}
				number++
				key := "k" + strconv.Itoa(number)
				p := giving(t, plenty, newTestHosts(t, block))
				if call.ends {
					provision(t, p, key)
				}
				way.meet(call.procedure, f)
				if !call.ends {
					made, err := p.Provision(t.Context(), requestFor(key, idle()))
					if err == nil {
						t.Errorf("the answer is certain: %+v", made)
					}
					if provider.IsNotCreated(err) && len(l.left(t)) > 0 {
						t.Errorf("%v, and there is %v", err, l.left(t))
					}
					settled(t, p, key)
					if left := l.left(t); len(left) != 3 {
						t.Errorf("one machine has %v", left)
					}
				}
				ended(t, p, "a/"+key, key)
				if !way.hasMet() {
					t.Error("no call met the fault")
				}
				l.shouldBeEmpty(t)
			})
		}
	}
}

// The daemon does what it was asked, and says so only when the plugin has given up
// and the same request was sent again.
func TestAnAnswerThatComesAfterTheRetryMakesNoSecondMachine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	way := l.troubledWay(t)
	block := l.blockHost("a")
	block.URI = "qemu:///system?socket=" + way.socket
	p := giving(t, little, newTestHosts(t, block))
	way.meet(procDefine, answerLate)
	if _, err := p.Provision(t.Context(), requestFor("k1", idle())); err == nil || provider.IsNotCreated(err) {
		t.Fatalf("got %v, want unknown", err)
	}
	p = giving(t, plenty, p)
	settled(t, p, "k1")
	close(way.letGo)
	if left := l.left(t); len(left) != 3 || len(instances(list(t, p))) != 1 {
		t.Errorf("one machine has %v", left)
	}
	ended(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
}

// A daemon that is stopped in the middle keeps what it was sent in its socket, and
// executes it when it continues.
func TestAStalledDaemonCostsOneConnectionAndMakesNoSecondMachine(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	other := newLab(t)
	p := newTestHosts(t, l.blockHost("a"), other.blockHost("b"))
	provision(t, p, "k1")
	list(t, giving(t, little, p)) // to be connected
	l.tell(t, "signal 19")
	began := time.Now()
	request := requestFor("k2", idle())
	request.Instance.Hosts = []string{"a"}
	if _, err := p.Provision(t.Context(), request); err == nil {
		t.Error("a stalled daemon made a machine")
	}
	// The other host is seen and used all the same, and the list says what it lacks.
	// Its own calls get the time that they need.
	p.all[1] = giving(t, plenty, newTestHosts(t, other.blockHost("b"))).all[0]
	onB := requestFor("k3", idle())
	onB.Instance.Hosts = []string{"b"}
	if made, err := p.Provision(t.Context(), onB); err != nil || made.Zone != "b" {
		t.Errorf("beside a stalled daemon: %+v, %v", made, err)
	}
	var seen []string
	var incomplete error
	for resource, err := range p.Inspect(t.Context(), provider.Query{}) {
		if incomplete = err; err == nil && resource.Kind == "" {
			seen = append(seen, resource.ID)
		}
	}
	if incomplete == nil || !slices.Contains(seen, "b/k3") {
		t.Errorf("seen %v, %v", seen, incomplete)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("a stalled daemon held the plugin for %s", took)
	}
	l.tell(t, "signal 18")
	p = giving(t, plenty, p)
	settled(t, p, "k1")
	terminate(t, p, "a/k1", "k1")
	terminate(t, p, "", "k2")
	terminate(t, p, "b/k3", "k3")
	l.shouldBeEmpty(t)
	other.shouldBeEmpty(t)
}

func TestADaemonThatIsKilledAndStartedFindsTheMachinesThatLivedOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := giving(t, plenty, newTestHosts(t, l.blockHost("a")))
	provision(t, p, "k1")
	l.tell(t, "signal 9")
	l.tell(t, "ended")
	if _, err := p.Provision(t.Context(), requestFor("k2", idle())); !provider.IsNotCreated(err) {
		t.Errorf("without a daemon: %v", err)
	}
	for _, err := range p.Inspect(t.Context(), provider.Query{}) {
		if err == nil {
			t.Error("without a daemon something is seen")
		}
	}
	l.tell(t, "start")
	if found := settled(t, p, "k1"); found.State != provider.Running {
		t.Errorf("the machine that lived on is %+v", found)
	}
	if again, err := p.Provision(t.Context(), requestFor("k1", idle())); err != nil || !again.Existed {
		t.Errorf("the same key again: %+v, %v", again, err)
	}
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
}

func TestTwoHostsShareTheMachinesAndOneMayBeDown(t *testing.T) {
	t.Parallel()
	needLong(t)
	a, b := newLab(t), newLab(t)
	blockA, blockB := a.blockHost("a"), b.blockHost("b")
	blockA.VCPUs, blockB.VCPUs = 2, 2
	p := giving(t, plenty, newTestHosts(t, blockA, blockB))
	if left := offered(t, p); left["a"] != 2 || left["b"] != 2 || len(left) != 2 {
		t.Errorf("two empty hosts offer %v", left)
	}
	zones := map[string]int{}
	for n := range 4 {
		zones[provision(t, p, fmt.Sprintf("k%d", n)).Zone]++
	}
	if zones["a"] != 2 || zones["b"] != 2 {
		t.Errorf("four machines are on %v", zones)
	}
	if left := offered(t, p); left["a"] != 0 || left["b"] != 0 || len(left) != 2 {
		t.Errorf("two full hosts offer %v", left)
	}
	_, err := p.Provision(t.Context(), requestFor("k4", idle()))
	if detailed := (*provider.Error)(nil); !provider.IsNotCreated(err) || !asError(err, &detailed) ||
		detailed.Class != provider.Capacity || !strings.Contains(err.Error(), "2 of 2 processors") {
		t.Errorf("a fifth machine: %v", err)
	}
	a.tell(t, "signal 9")
	a.tell(t, "ended")
	if left := offered(t, p); left["b"] != 0 || len(left) != 1 {
		t.Errorf("with host a down there are the offers %v", left)
	}
	var zone string
	for resource, err := range p.Inspect(t.Context(), provider.Query{}) {
		if err != nil && !strings.Contains(err.Error(), "host a can't be reached") {
			t.Error(err)
		}
		zone += resource.Zone
	}
	if strings.Contains(zone, "a") || !strings.Contains(zone, "b") {
		t.Errorf("with host a down there are machines in %q", zone)
	}
	onB := slices.IndexFunc([]string{"k0", "k1", "k2", "k3"}, func(key string) bool {
		g, err := p.all[1].guest(t.Context(), key)
		return err == nil && g != nil
	})
	terminate(t, p, fmt.Sprintf("b/k%d", onB), fmt.Sprintf("k%d", onB))
	elsewhere := requestFor("k6", idle())
	elsewhere.Offers = []provider.Offer{{Zone: "c", MachineType: machineType}}
	if _, err := p.Provision(t.Context(), elsewhere); !provider.IsNotCreated(err) {
		t.Errorf("a machine of an offer that there isn't: %v", err)
	}
	if made := provision(t, p, "k5"); made.Zone != "b" {
		t.Errorf("with host a down the next machine is on %s", made.Zone)
	}
	a.tell(t, "start")
	for _, one := range instances(list(t, p)) {
		terminate(t, p, one.ID, one.Key)
	}
	a.shouldBeEmpty(t)
	b.shouldBeEmpty(t)
}

// offered is how many machines each host offers.
func offered(t *testing.T, p *hosts) map[string]uint32 {
	t.Helper()
	offers, err := p.Offers(t.Context(), idle())
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]uint32{}
	for _, offer := range offers.Offers {
		left[offer.Zone] = *offer.Available
	}
	return left
}
