package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// lie is a way in which an agent says something else than what is so. What an
// agent says may cost its own host at most; that of another, or a job that its
// scheduler knows of, never.
type lie string

const (
	saysIdle    lie = "says that it has no job"
	saysBusy    lie = "says that it has a job"
	saysLeft    lie = "says that it has left"
	saysOldWord lie = "echoes an old order"
	saysTime    lie = "says another time and version"
	saysMore    lie = "claims what it hasn't"
	goesOn      lie = "calls for a runner that has ended"
	stalls      lie = "calls now and then"
)

// lies are what an enrolled agent may begin to say. A newcomer may say saysMore
// or saysTime.
var lies = []lie{saysIdle, saysBusy, saysLeft, saysOldWord, saysTime, saysMore, goesOn, stalls}

// tells says whether the agent tells the lie now.
func (h *host) tells(l lie) bool { return h.lie == l && h.w.at < h.lieEnds }

// liesAtFirst makes a host that boots while agents lie one that claims too much
// before it is admitted: it has less than its class asks for, or its clock is off.
func (h *host) liesAtFirst(random *rand.Rand) {
	if !h.w.during(AgentLies, -1) || random.IntN(3) > 0 {
		return
	}
	h.lie, h.lieEnds = saysMore, chaos
	if random.IntN(2) == 0 {
		h.lie = saysTime
		return
	}
	h.resource.Attested = nil
	h.lacks = len(h.w.store.fleet(h.instance).Class.Capabilities) > 0
}

// beginsToLie is an agent that was honest.
func (h *host) beginsToLie(f Fault, random *rand.Rand) {
	h.lie, h.lieEnds = lies[random.IntN(len(lies))], f.At+f.For
	if h.lie == saysLeft {
		h.w.store.beat(h.instance, h.w.now(), func(r *fleet.Runner) { r.Left, r.LeftReason = h.w.now(), "its age" })
		h.w.manager.stepSoon(50 * time.Millisecond)
	}
	h.w.say("%s %s", h.instance, h.lie)
}

// lieIn changes an honest report.
func (h *host) lieIn(r *fleet.Runner) {
	if (!h.w.scheduled(h.instance) || h.w.unlisted(h.instance)) && (h.tells(saysIdle) || h.tells(saysOldWord)) {
		h.untrue = true // only the agent says that its jobs are over
	}
	r.Skew, r.AgentVersion = 0, agentVersion
	switch {
	case h.tells(saysIdle):
		r.Report.Phase, r.Report.GroupEmpty, r.Report.Order = fleet.PhaseStopped, true, h.order
	case h.tells(saysBusy):
		r.Report.Phase, r.Report.GroupEmpty = fleet.PhaseRunning, false
	case h.tells(saysOldWord):
		if h.oldWord == "" {
			h.oldWord = h.order
		}
		r.Report.Phase, r.Report.GroupEmpty, r.Report.Heard, r.Report.Order = fleet.PhaseStopped, true, "stop", h.oldWord
	case h.tells(saysTime):
		r.Skew, r.AgentVersion = time.Hour, "9.9.9"
	case h.tells(saysMore):
		r.Report.Probes = map[string]fleet.Probe{"kvm": {OK: true, Evidence: "trust me"}}
	}
}

// whoLacksIsNotTrusted: "newly created hosts are untrusted until admitted;". What
// a host claims and its provider doesn't vouch for makes no host Healthy.
func (w *world) whoLacksIsNotTrusted(i fleet.CapacityInstance) {
	for _, h := range w.hosts {
		if h.instance == i.ID && h.lacks && (i.State == fleet.Healthy || i.Admission.State == fleet.AdmissionVerified) {
			w.fail(
				"newly created hosts are untrusted until admitted",
				"%s claims what its provider doesn't vouch for, and it is %s",
				i.ID,
				i.State,
			)
		}
	}
}
