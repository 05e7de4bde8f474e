package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
)

// What providers announce. It is drawn beside the other faults, so that a seed's
// others are what they are without it.
const (
	NoticedReclaim  FaultKind = "reclaim with notice"    // announced, and then the host is taken
	NoticeInVain    FaultKind = "notice without reclaim" // announced, and the host stays
	NoticeWithdrawn FaultKind = "notice withdrawn"       // announced by the host's platform, and taken back
	RebalanceAsked  FaultKind = "rebalance"              // a recommendation
	UnknownNotice   FaultKind = "foreign notice"         // about a machine that isn't ours
	NoticeFlood     FaultKind = "flood of events"        // the same and others, again and again
)

var noticeKinds = []FaultKind{
	NoticedReclaim,
	NoticedReclaim,
	NoticeInVain,
	NoticeWithdrawn,
	RebalanceAsked,
	UnknownNotice,
	NoticeFlood,
}

// noticesOf draws what is announced in a seed: in every third one something is.
func noticesOf(seed uint64) []Fault {
	random := rand.New(rand.NewPCG(seed, 7))
	if random.IntN(3) > 0 {
		return nil
	}
	faults := make([]Fault, 1+random.IntN(6))
	for n := range faults {
		faults[n] = Fault{
			Kind:     noticeKinds[random.IntN(len(noticeKinds))],
			At:       time.Duration(random.Int64N(int64(chaos))).Truncate(time.Millisecond),
			Provider: random.IntN(2),
			Draw:     random.Uint64(),
		}
	}
	return faults
}

// announced is what a host's provider says of it, in true time.
type announced struct {
	notice fleet.Notice
	at     time.Duration // of the deadline
	// byAgent and byProvider are the ways on which it is told.
	byAgent, byProvider bool
}

// announce lets a provider say something about one of its hosts.
func (w *world) announce(f Fault, random *rand.Rand) {
	c := w.clouds[f.Provider]
	switch f.Kind {
	case UnknownNotice:
		c.tell("foreign-1", fleet.Notice{ID: "n", Kind: fleet.NoticeInterruption, Deadline: w.now().Add(time.Minute)})
		return
	case NoticeFlood:
		c.flood(random)
		return
	}
	var own []*host
	for _, h := range w.hosts {
		if h.resource.host == h && h.alive() && slices.Contains(c.resources, h.resource) && !h.resource.copied {
			own = append(own, h)
		}
	}
	if len(own) == 0 {
		return
	}
	h := own[random.IntN(len(own))]
	a := &announced{
		at:         w.at + time.Duration(3+random.IntN(120))*time.Second,
		byAgent:    random.IntN(2) == 0,
		byProvider: random.IntN(2) == 0,
	}
	a.byAgent = a.byAgent || !a.byProvider || f.Kind == NoticeWithdrawn
	a.notice = fleet.Notice{ID: fmt.Sprintf("notice-%d", f.Number), Kind: fleet.NoticeInterruption, Detail: string(f.Kind)}
	if f.Kind == RebalanceAsked {
		a.notice.Kind = fleet.NoticeRebalance
	} else {
		h.doomed = true
	}
	if f.Kind == NoticeWithdrawn {
		a.byProvider = false
	}
	w.say("%s: %s at %s (agent %t, provider %t)", f.Kind, h.instance, a.at, a.byAgent, a.byProvider)
	h.announced = append(h.announced, a)
	if a.byAgent {
		w.after(200*time.Millisecond, h.call)
	}
	for range 1 + random.IntN(2) { // it may come twice
		c.tellOf(h, a)
	}
	switch f.Kind {
	case NoticeWithdrawn:
		w.agenda.add(w.at+time.Duration(1+random.IntN(60))*time.Second, func() {
			h.announced = slices.DeleteFunc(h.announced, func(other *announced) bool { return other == a })
		})
	case NoticedReclaim:
		late := time.Duration(random.IntN(25)-5) * time.Second
		w.agenda.add(max(w.at, a.at+late), func() { c.take(h, random) })
	}
}

// take is the end of a host that was announced.
func (c *cloud) take(h *host, random *rand.Rand) {
	if h.off || !slices.Contains(c.resources, h.resource) {
		return
	}
	if random.IntN(2) == 0 {
		c.w.say("cloud %s: %s is powered off, as announced", c.address, h.resource.ID)
		h.resource.State = fleet.ResourceStopped
		h.stop()
	} else {
		c.remove(h.resource)
	}
}

// tell sends an event of the plugin's, if it is up.
func (c *cloud) tell(id fleet.ProviderInstanceRef, n fleet.Notice) {
	if c.up {
		c.w.manager.deliver(c.w.manager.life, loop.Noticed{Provider: c.address, Instance: id, Notice: n})
	}
}

func (c *cloud) tellOf(h *host, a *announced) {
	if a.byProvider {
		n := a.notice
		n.Deadline = c.w.now().Add(a.at - c.w.at)
		c.tell(h.resource.ID, n)
	}
}

// tellAll is a plugin that begins to watch: it tells what stands.
func (c *cloud) tellAll() {
	for _, h := range c.w.hosts {
		if slices.Contains(c.resources, h.resource) {
			for _, a := range h.announced {
				c.tellOf(h, a)
			}
		}
	}
}

// flood is a plugin that says the same and hints again and again.
func (c *cloud) flood(random *rand.Rand) {
	for n := range 100 + random.IntN(200) {
		c.w.after(time.Duration(n)*20*time.Millisecond, func() {
			for _, r := range c.resources[:min(3, len(c.resources))] {
				c.tell(r.ID, fleet.Notice{})
			}
			c.tellAll()
		})
	}
}

// reports is what a host's agent says of its platform: the deadline is worked out
// from a duration with each beat, and about the same is the same.
func (h *host) reports(before []fleet.Notice) []fleet.Notice {
	var out []fleet.Notice
	for _, a := range h.announced {
		if !a.byAgent {
			continue
		}
		n := a.notice
		n.Deadline = h.w.now().Add(a.at - h.w.at)
		for _, b := range before {
			if b.ID == n.ID && b.Deadline.Sub(n.Deadline).Abs() <= 5*time.Second {
				n = b
			}
		}
		out = append(out, n)
	}
	return out
}

// interrupted says that the agent begins no job: it was told on one of the ways.
func (h *host) interrupted() bool {
	return h.w.store.instances[h.instance].Interruption.TakesAway() ||
		slices.ContainsFunc(
			h.announced,
			func(a *announced) bool { return a.byAgent && a.notice.Kind == fleet.NoticeInterruption },
		)
}

// takeBack takes a runner's job away. Its worker hears that the lease is void, and
// ends the job.
func (s *listingCI) takeBack(r *ciRunner) {
	j := r.lease
	if j == nil {
		return
	}
	s.w.say("job %d is taken back from %s", j.number, r.name)
	r.lease = nil
	s.again(j)
	for _, h := range s.w.hosts {
		if h.instance == r.name && h.lease == j {
			s.w.after(time.Second, func() {
				if h.lease == j {
					h.lease, h.busy = nil, false
				}
			})
		}
	}
}
