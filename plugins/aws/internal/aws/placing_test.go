package aws

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

func TestAHostIsUsedAgainOnceItIsPreparedAndNeverBefore(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: scrubbing})
	p := l.start(t)
	made := launched(t, p, askedMac(key, 1))
	first := oneHost(t, p)
	l.Advance(time.Hour)
	l.gone(t, p, made.ID, key)
	_, err := p.Provision(t.Context(), askedMac(secondKey, 1))
	if !provider.IsNotCreated(err) || classOf(err) != provider.Capacity ||
		!strings.Contains(err.Error(), first.id+": it is being prepared") || !strings.Contains(err.Error(), "max_hosts") {
		t.Fatalf("wanted a shortage that says what the host is doing, got %v", err)
	}
	if l.Calls("CreateTags") != 0 || l.Calls("RunInstances") != 1 {
		t.Fatal("what is being prepared was counted as free")
	}
	l.Advance(270 * time.Minute)
	p = l.start(t) // it knows nothing but the account
	again := launched(t, p, askedMac(secondKey, 1))
	if now := oneHost(t, p); now.id != first.id || now.occupant != again.ID || now.labels.key() != secondKey ||
		l.Calls("AllocateHosts") != 1 {
		t.Fatalf("wanted %s on the host %s, which is its own now: %+v", again.ID, first.id, now)
	}
	if shown := shownHost(t, p); shown.Key != secondKey || shown.BelongsTo != again.ID ||
		shown.Tags["forgeyard-proof"] != "v1-k1-"+secondKey {
		t.Fatalf("the host is listed as another's: %+v", shown)
	}
	// The first key has nothing to do with it any more.
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: first.id, Key: key}); state != provider.Refused ||
		err == nil {
		t.Fatalf("Terminate of the host by its former key says %v, %v", state, err)
	}
	l.gone(t, p, again.ID, secondKey)
	l.Advance(24 * time.Hour)
	l.released(t, p, secondKey)
}

func TestWhileAHostIsPreparedAnotherIsAllocatedAsFarAsTheFleetMay(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: scrubbing})
	p := l.start(t)
	l.gone(t, p, launched(t, p, askedMac(key, 2)).ID, key)
	launched(t, p, askedMac(secondKey, 2))
	if seen := held(t, p); len(seen) != 2 {
		t.Fatalf("wanted a second host, got %+v", seen)
	}
	if _, err := p.Provision(t.Context(), askedMac(thirdKey, 2)); !provider.IsNotCreated(err) ||
		classOf(err) != provider.Capacity || l.Calls("AllocateHosts") != 2 {
		t.Fatalf("wanted no third host, got %v", err)
	}
}

func TestAFreeHostOfAnotherFleetIsUsedBeforeOneIsAllocated(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: scrubbing})
	p := l.start(t)
	l.gone(t, p, launched(t, p, askedMac(key, 1)).ID, key)
	l.Advance(5 * time.Hour)
	other := askedMac(secondKey, 1)
	other.Fleet = "fleet.other"
	launched(t, p, other)
	if now := oneHost(t, p); now.labels[tagFleet] != "fleet.other" {
		t.Fatalf("the host isn't the other fleet's: %+v", now)
	}
	// It counts among that fleet's now, and no more among the first's.
	third := askedMac(thirdKey, 1)
	third.Fleet = "fleet.other"
	if _, err := p.Provision(t.Context(), third); classOf(err) != provider.Capacity {
		t.Fatalf("wanted a shortage, got %v", err)
	}
	third.Fleet = "fleet.linux"
	launched(t, p, third)
}

// Whatever becomes of the first AllocateHosts or its answer, the same key again has
// exactly one host, whether or not the plugin remembers, and at the end there is none.
func TestALostAnswerOfAnAllocationMakesExactlyOneHost(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  ec2sim.Fault
		delays ec2sim.Delays
		proven bool
	}{
		{name: "the request is cut off before it has an effect"},
		{name: "the service fails before the effect", fault: ec2sim.Fault{Status: 500, Code: "InternalError"}},
		{name: "there is no room", fault: ec2sim.Fault{Status: 500, Code: "InsufficientHostCapacity"}, proven: true},
		{name: "the account may have no more", fault: ec2sim.Fault{Code: "HostLimitExceeded"}, proven: true},
		{name: "the request is throttled", fault: ec2sim.Fault{Status: 503, Code: "RequestLimitExceeded"}, proven: true},
		{name: "the answer is cut off after the effect", fault: ec2sim.Fault{After: true}},
		{name: "the service fails after the effect", fault: ec2sim.Fault{After: true, Status: 500, Code: "InternalError"}},
		{name: "the answer is lost and the lists lag", fault: ec2sim.Fault{After: true},
			delays: ec2sim.Delays{Visible: 30 * time.Second}},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarts %v", c.name, restarts), func(t *testing.T) {
				l := newLab(t, ec2sim.Options{Delays: c.delays})
				p := l.start(t)
				fault := c.fault
				fault.Operation = "AllocateHosts"
				l.Inject(fault)
				_, err := p.Provision(t.Context(), askedMac(key, 1))
				if err == nil || provider.IsNotCreated(err) != c.proven || l.Calls("RunInstances") != 0 {
					t.Fatalf("proven: %v, and the answer is %v", c.proven, err)
				}
				if restarts {
					p = l.start(t)
				}
				made := launched(t, p, askedMac(key, 1))
				l.Advance(time.Minute)
				if one := oneHost(t, p); one.occupant != made.ID {
					t.Fatalf("wanted %s on the one host: %+v", made.ID, one)
				}
				l.gone(t, p, made.ID, key)
				l.Advance(24 * time.Hour)
				l.released(t, p, key)
			})
		}
	}
}

// A caller that gives up after a lost answer gets unknown until time has proven it;
// what the request made is then there to be used, and at last released.
func TestAHostOfALostAnswerThatNobodyWantsIsReleasedAfterItsDay(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.Inject(ec2sim.Fault{Operation: "AllocateHosts", After: true})
	if _, err := p.Provision(t.Context(), askedMac(key, 1)); err == nil || provider.IsNotCreated(err) {
		t.Fatalf("wanted a failure that claims nothing, got %v", err)
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{Key: key}); state != provider.TerminateUnknown || err == nil {
		t.Fatalf("the request may still arrive, and Terminate of its key says %v, %v", state, err)
	}
	l.Advance(20 * time.Minute)
	if state, err := p.Terminate(t.Context(), provider.Ref{Key: key}); state != provider.Gone || err != nil {
		t.Fatalf("wanted that no machine is left, got %v, %v", state, err)
	}
	l.Advance(24 * time.Hour)
	l.released(t, p, key)
}

// The client token of a launch is bound to its host: a restarted plugin must
// choose the same.
func TestALostAnswerOfALaunchOnAHostMakesOneMachineOnTheSameHost(t *testing.T) {
	for _, after := range []bool{false, true} {
		l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: 30 * time.Second}})
		p := l.start(t)
		l.Inject(ec2sim.Fault{Operation: "RunInstances", After: after})
		if _, err := p.Provision(t.Context(), askedMac(key, 2)); err == nil || provider.IsNotCreated(err) {
			t.Fatalf("wanted a failure that claims nothing, got %v", err)
		}
		// Another key comes in between, and may not have the first one's host.
		launched(t, l.start(t), askedMac(secondKey, 2))
		p = l.start(t)
		made := launched(t, p, askedMac(key, 2))
		l.Advance(time.Minute)
		seen := held(t, p)
		if len(seen) != 2 || !slices.ContainsFunc(seen, func(h host) bool {
			return h.labels.key() == key && h.occupant == made.ID
		}) {
			t.Fatalf("effect %v: wanted %s on the host of its key, and two hosts: %+v", after, made.ID, seen)
		}
		if instances, _ := list(t.Context(), t, p); len(instances) != 2 {
			t.Fatalf("effect %v: wanted two machines, got %v", after, instances)
		}
	}
}

func TestTheHostOfARefusedLaunchIsThereForTheNextKeyAtOnce(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Code: "VcpuLimitExceeded"})
	if _, err := l.start(t).Provision(t.Context(), askedMac(key, 1)); !provider.IsNotCreated(err) {
		t.Fatalf("wanted a proven refusal, got %v", err)
	}
	p := l.start(t)
	launched(t, p, askedMac(secondKey, 1))
	if one := oneHost(t, p); one.labels.key() != secondKey {
		t.Fatalf("the host isn't the second key's: %+v", one)
	}
}

// A key that comes again after its refusal has its host again, for as long as any.
func TestAKeyThatComesAgainAfterARefusalHasItsHostForItself(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	for _, fault := range []ec2sim.Fault{{Operation: "RunInstances", Code: "VcpuLimitExceeded"},
		{Operation: "RunInstances"}} {
		l.Inject(fault)
		if _, err := l.start(t).Provision(t.Context(), askedMac(key, 1)); err == nil {
			t.Fatal("the launch failed")
		}
	}
	if _, err := l.start(t).Provision(t.Context(), askedMac(secondKey, 1)); classOf(err) != provider.Capacity {
		t.Fatalf("the first key's launch may still arrive, and the second's says %v", err)
	}
}

// What the refused launch had asked for is the next key's, and isn't counted twice.
func TestTheHostOfARefusedLaunchIsCountedOnce(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Code: "VcpuLimitExceeded"})
	if _, err := p.Provision(t.Context(), askedMac(key, 2)); !provider.IsNotCreated(err) {
		t.Fatalf("wanted a proven refusal, got %v", err)
	}
	launched(t, p, askedMac(secondKey, 2))
	launched(t, p, askedMac(thirdKey, 2))
	if seen := held(t, p); len(seen) != 2 {
		t.Fatalf("wanted two hosts, got %+v", seen)
	}
}

// A host that a launch has taken is no other's, while the launch may have its effect.
func TestAHostWhoseLaunchMayStillArriveIsNobodyElses(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	l.Inject(ec2sim.Fault{Operation: "RunInstances"})
	if _, err := l.start(t).Provision(t.Context(), askedMac(key, 1)); err == nil || provider.IsNotCreated(err) {
		t.Fatalf("wanted a failure that claims nothing, got %v", err)
	}
	if _, err := l.start(t).Provision(t.Context(), askedMac(secondKey, 1)); classOf(err) != provider.Capacity {
		t.Fatalf("the host is the first key's, and the second's launch says %v", err)
	}
	l.Advance(claimLife)
	// Taken again by another key, it is that one's for as long.
	l.Inject(ec2sim.Fault{Operation: "RunInstances"})
	if _, err := l.start(t).Provision(t.Context(), askedMac(secondKey, 1)); err == nil || provider.IsNotCreated(err) {
		t.Fatalf("wanted a failure that claims nothing, got %v", err)
	}
	if _, err := l.start(t).Provision(t.Context(), askedMac(thirdKey, 1)); classOf(err) != provider.Capacity {
		t.Fatalf("the host is the second key's, and the third's launch says %v", err)
	}
	launched(t, l.start(t), askedMac(secondKey, 1))
	if l.Calls("AllocateHosts") != 1 {
		t.Fatal("a second host was allocated")
	}
}

func TestKeysAtOnceNeverHaveMoreHostsThanTheFleetMay(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: time.Minute}})
	p := l.start(t)
	var running sync.WaitGroup
	outcomes := make([]error, 6)
	for n := range outcomes {
		running.Go(func() {
			_, outcomes[n] = p.Provision(t.Context(), askedMac(fmt.Sprintf("01jx000000000000000000001%d", n), 2))
		})
	}
	running.Wait()
	made := 0
	for _, err := range outcomes {
		switch {
		case err == nil:
			made++
		case !provider.IsNotCreated(err) || classOf(err) != provider.Capacity:
			t.Errorf("wanted a machine or a shortage, got %v", err)
		}
	}
	l.Advance(time.Minute)
	seen := held(t, p)
	if made != 2 || len(seen) != 2 || seen[0].occupant == "" || seen[1].occupant == "" || l.Calls("AllocateHosts") != 2 {
		t.Fatalf("wanted two machines on two hosts, got %d on %+v", made, seen)
	}
}

// Both see the same free host, and the one that acts later has to leave it alone.
func TestKeysAtOnceShareNoFreeHost(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: scrubbing})
	p := l.start(t)
	l.gone(t, p, launched(t, p, askedMac(key, 2)).ID, key)
	l.Advance(5 * time.Hour)
	before, seen := l.Calls("DescribeHosts"), make(chan struct{})
	l.Inject(ec2sim.Fault{Operation: "DescribeHosts", Until: seen})
	var slow sync.WaitGroup
	var failed error
	slow.Go(func() { _, failed = p.Provision(t.Context(), askedMac(secondKey, 2)) })
	for began := time.Now(); l.Calls("DescribeHosts") == before; {
		if time.Since(began) > time.Minute {
			t.Fatal("the hosts aren't asked for")
		}
		time.Sleep(time.Millisecond)
	}
	launched(t, p, askedMac(thirdKey, 2))
	close(seen)
	slow.Wait()
	hosts := held(t, p)
	if failed != nil || len(hosts) != 2 || hosts[0].labels.key() != thirdKey || hosts[1].labels.key() != secondKey ||
		l.Calls("AllocateHosts") != 2 {
		t.Fatalf("wanted one machine on the free host and one on a new one: %v, %+v", failed, hosts)
	}
}

func TestNothingIsAllocatedForABlockThatIsWrong(t *testing.T) {
	for name, corrupt := range map[string]func(*request){
		"the image isn't there":           func(r *request) { r.Image = "ami-0fffffffffffffff" },
		"the launch template isn't there": func(r *request) { r.Instance.Template = withTemplate().Instance.Template },
		"the offer is of the spot market": func(r *request) {
			r.Offers = []provider.Offer{{Zone: "us-east-1a", MachineType: "mac2.metal", Lifetime: "preemptible"}}
		},
		"the offer is of a zone without a subnet": func(r *request) {
			r.Offers = []provider.Offer{{Zone: "us-east-1b", MachineType: "mac2.metal", Lifetime: "stable"}}
		},
	} {
		l := newLab(t, ec2sim.Options{})
		one := askedMac(key, 1)
		corrupt(&one)
		if _, err := l.start(t).Provision(t.Context(), one); !provider.IsNotCreated(err) || l.Calls("AllocateHosts") != 0 {
			t.Errorf("%s: got %v after %d allocations", name, err, l.Calls("AllocateHosts"))
		}
	}
}

// Whose launch was refused leaves a host that is paid for, also while no list shows it.
func TestTheHostOfARefusedLaunchCountsBeforeAnyListShowsIt(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: 30 * time.Second}})
	p := l.start(t)
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Code: "VcpuLimitExceeded"})
	if _, err := p.Provision(t.Context(), askedMac(key, 1)); !provider.IsNotCreated(err) {
		t.Fatalf("wanted a proven refusal, got %v", err)
	}
	if _, err := p.Provision(t.Context(), askedMac(secondKey, 1)); classOf(err) != provider.Capacity ||
		l.Calls("AllocateHosts") != 1 {
		t.Fatalf("the fleet has its one host, and %d were allocated: %v", l.Calls("AllocateHosts"), err)
	}
	l.Advance(time.Minute)
	launched(t, p, askedMac(secondKey, 1))
	oneHost(t, p)
}
