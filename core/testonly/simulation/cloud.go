package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// cloud is one provider with its plugin. What exists is true at once; what a list
// shows of it lags, within the settle time that the provider declares.
//
// It takes the loop's effects and not the calls of an executor, and draws all that happens
// from a seed in virtual time; it is also what the invariants are compared with. The tests
// of core/loop have a provider of their own, so that the two are independent of each other.
type cloud struct {
	w      *world
	number int
	facts  fleet.ProviderFacts
	// inventory says that its hosts are there and people join them.
	inventory bool
	address   fleet.ProviderAddress
	resources []*resource
	// up says that a plugin process answers; calls are those that run in it.
	up     bool
	plugin int
	calls  []*call
	random *rand.Rand
	made   int
	// batches are those that it made, as they were asked for.
	batches map[fleet.OperationID]string
	// lastCall is when the last provision call for a key was over.
	lastCall map[fleet.OperationID]time.Duration
	// looks are the inspections by when they began, for the invariants.
	looks map[time.Time]look
	// delivered is the last complete one that was answered.
	delivered look
}

// look is what is known of an inspection: how many commits there were before it,
// and when it began in true time.
type look struct {
	commits int
	at      time.Duration
}

// resource is a machine, or something else that the account has.
type resource struct {
	fleet.Resource
	// call made it: a list may miss it until settled after the call was over.
	call    *call
	lag     time.Duration
	created time.Duration
	host    *host
	// foreign says that only a person may touch it, copied that it is a copy.
	foreign, copied bool
	// part says that it belongs to a machine and is none.
	part bool
}

// call is a provision or terminate call that the plugin works on.
type call struct {
	keys     []fleet.OperationID
	life     int
	plugin   int
	over     time.Duration
	answered bool
	answer   func(outcome, *loop.Failure, bool)
}

// outcome is how a call ended, for either kind.
type outcome struct {
	provision fleet.ProvisionOutcome
	terminate fleet.TerminateOutcome
	resource  fleet.Resource
	// members are the answers of a batch that was made.
	members []loop.ProvisionAnswered
}

func (w *world) cloud(a fleet.ProviderAddress) *cloud {
	for _, c := range w.clouds {
		if c.address == a {
			return c
		}
	}
	return w.clouds[0]
}

// start is a plugin process that comes up for the manager's life.
func (c *cloud) start(in time.Duration) {
	life := c.w.manager.life
	c.w.after(in, func() {
		if c.w.manager.alive && life == c.w.manager.life && !c.up {
			c.up = true
			c.plugin++
			c.w.manager.deliver(life, loop.ProviderReady{Provider: c.address, Facts: c.facts})
			c.tellAll()
		}
	})
}

// end is the plugin of a dead manager: it finishes its calls. It returns when the
// last of them is over.
func (c *cloud) end() time.Duration {
	c.up = false
	last := c.w.at
	for _, call := range c.calls {
		last = max(last, call.over)
	}
	return last
}

// crash ends the plugin process in the middle of its calls. What has left it goes
// on in the cloud.
func (c *cloud) crash(random *rand.Rand) {
	if !c.up {
		return
	}
	c.up = false
	life := c.w.manager.life
	c.w.manager.deliver(life, loop.ProviderDown{Provider: c.address, Reason: "the plugin crashed"})
	for _, call := range c.calls {
		call.over = c.w.at
		if !call.answered {
			call.answered = true
			call.answer(
				outcome{provision: fleet.ProvisionUnknown, terminate: fleet.TerminateUnknown},
				transient("the plugin crashed"),
				true,
			)
		}
	}
	c.calls = nil
	c.start(time.Duration(1+random.IntN(20)) * time.Second)
}

func transient(why string) *loop.Failure {
	return &loop.Failure{Class: fleet.ErrorTransient, Message: why}
}

// listed says whether a list that is made now shows the resource.
func (c *cloud) listed(r *resource) bool {
	if r.call == nil || c.w.at >= r.call.over+r.lag {
		return true
	}
	return c.random.IntN(2) == 0
}

// list is what a list shows now.
func (c *cloud) list() []fleet.Resource {
	var out []fleet.Resource
	for _, r := range c.resources {
		if c.listed(r) {
			out = append(out, r.Resource)
		}
	}
	return out
}

func (c *cloud) byID(id fleet.ProviderInstanceRef) *resource {
	for _, r := range c.resources {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// remove deletes a resource; the host in it is no more.
func (c *cloud) remove(r *resource) {
	c.resources = slices.DeleteFunc(c.resources, func(other *resource) bool { return other == r })
	c.w.say("cloud %s: %s is gone", c.address, r.ID)
	c.dropVolumes(r)
	if r.host != nil {
		r.host.stop()
	}
}

// reclaim takes hosts away as a provider of preemptible capacity does.
func (c *cloud) reclaim(random *rand.Rand, n int) {
	for range n {
		var own []*resource
		for _, r := range c.resources {
			if !r.foreign && !r.copied && !r.part && r.State == fleet.ResourceRunning {
				own = append(own, r)
			}
		}
		if len(own) == 0 || n > 1 && random.IntN(6) == 0 {
			return
		}
		r := own[random.IntN(len(own))]
		if random.IntN(2) == 0 {
			c.w.say("cloud %s: %s is powered off", c.address, r.ID)
			r.State = fleet.ResourceStopped
			r.host.stop()
		} else {
			c.remove(r)
		}
	}
}

// copyByHand launches another machine with the tags of one that is there.
func (c *cloud) copyByHand(random *rand.Rand) {
	var own []*resource
	for _, r := range c.resources {
		if !r.foreign && !r.copied && !r.part {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		return
	}
	of := own[random.IntN(len(own))]
	c.made++
	r := &resource{Resource: of.Resource, created: c.w.at, copied: true}
	r.ID, r.State = fleet.ProviderInstanceRef(fmt.Sprintf("copy-%d-of-%s", c.made, of.ID)), fleet.ResourceRunning
	c.resources = append(c.resources, r)
	c.w.say("a person copies %s as %s", of.ID, r.ID)
}

// addForeign makes something that looks more or less like ours.
func (c *cloud) addForeign(random *rand.Rand) {
	c.made++
	r := &resource{created: c.w.at, foreign: true, Resource: fleet.Resource{
		ID: fleet.ProviderInstanceRef(fmt.Sprintf("foreign-%d", c.made)), State: fleet.ResourceRunning,
	}}
	switch random.IntN(3) {
	case 0: // somebody else's
	case 1:
		r.Tags = map[string]string{"forgeyard-installation": "another"}
	case 2: // says that it is ours, and can't prove it
		r.Key = fleet.OperationID(fmt.Sprintf("%010x%06d", c.w.now().UnixMilli(), 900000+c.made))
		r.Tags = map[string]string{
			"forgeyard-installation":      installation,
			"forgeyard-fleet":             string(c.w.store.fleets[0].ID),
			"forgeyard-capacity-instance": "none",
			"forgeyard-key":               string(r.Key),
			"forgeyard-proof":             "v1-guessed",
		}
	}
	c.resources = append(c.resources, r)
}

// tidy is a person who, in peace, removes the copies, and powers off the hosts
// whose agents died together: the loop holds those and says so.
func (c *cloud) tidy() {
	for _, r := range c.resources {
		if h := r.host; h != nil && h.dead && !h.off && c.w.store.instances[h.instance].State == fleet.Healthy {
			c.w.say("a person powers off %s", r.ID)
			r.State = fleet.ResourceStopped
			h.stop()
		}
	}
	for _, r := range slices.Clone(c.resources) {
		if r.copied {
			c.remove(r)
		}
	}
}
