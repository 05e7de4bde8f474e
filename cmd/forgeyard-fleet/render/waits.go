package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// waitsFor says in one line what keeps an apply from its end.
func waitsFor(res progress.Progress) string {
	if res.At.IsZero() {
		return "the manager hasn't started yet"
	}
	return strings.Join(append([]string{state(res)}, WaitReasons(res)...), "; ")
}

// state counts the instances, and what isn't known of them.
func state(res progress.Progress) string {
	summary := sum(res)
	if res.Unresolved > 0 {
		summary += ", " + text.Plural(res.Unresolved, "unknown outcome")
	}
	return summary
}

// WaitReasons are sentences without their full stops: why the fleets don't match the
// definition yet.
func WaitReasons(res progress.Progress) (out []string) {
	say := func(format string, args ...any) {
		out = append(out, strings.TrimSuffix(fmt.Sprintf(format, args...), "."))
	}
	if n := len(res.Silent); n > 0 {
		say("%s no longer sending heartbeats", text.Plural(n, "instance")+" "+text.Are(n))
	}
	for _, held := range heldBack(res) {
		say("%s held back: %s", held.who(), held.hold.Reason)
	}
	for _, address := range slices.Sorted(maps.Keys(res.Waits)) {
		for _, wait := range res.Waits[address] {
			say("%s: %s", address.Name(), wait.TextAt(res.At))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(res.Schedulers)) {
		say("scheduler.%s is unobservable (%s)", address, res.Schedulers[address])
	}
	for _, address := range slices.Sorted(maps.Keys(res.Rollouts)) {
		say("%s: %s", address.Name(), res.Rollouts[address].Reason)
		if !res.Rollouts[address].SoakEnds.IsZero() {
			say("to skip the soak: forgeyard-fleet image rollout %s --skip-soak", text.ShellQuote(address.Name()))
		}
	}
	for _, u := range res.Unplaced {
		say("%s", u.Reason)
	}
	for _, address := range slices.Sorted(maps.Keys(res.Unobserved)) {
		if why := res.Unobserved[address]; !isReason(res, why) {
			say("provider.%s is unreachable (%s)", address, why)
		}
	}
	return out
}

// held are fleets that one and the same thing holds back.
type held struct {
	names []string
	hold  snapshot.Hold
}

// heldBack are the fleets that are held back, by what holds them: where a provider
// fails, that is one reason for all of its fleets.
func heldBack(res progress.Progress) (all []*held) {
	ids := slices.SortedFunc(maps.Keys(res.Holds), func(a, b fleet.RunnerFleetID) int {
		return cmp.Or(cmp.Compare(res.Fleets[a], res.Fleets[b]), cmp.Compare(a, b))
	})
	for _, id := range ids {
		hold := res.Holds[id]
		at := slices.IndexFunc(all, func(h *held) bool { return h.hold.Reason == hold.Reason })
		if at < 0 {
			at = len(all)
			all = append(all, &held{hold: hold})
		}
		all[at].names = append(all[at].names, res.Fleets[id].Name())
	}
	return all
}

// who is "demo is", "demo, spot are".
func (h *held) who() string { return strings.Join(h.names, ", ") + " " + text.Are(len(h.names)) }

// isReason says that what is wrong with a provider is why a fleet is held back, and
// so needn't be said twice.
func isReason(res progress.Progress, why reason.Reason) bool {
	for _, hold := range res.Holds {
		if reason.SameCause(hold.Reason, why) {
			return true
		}
	}
	return false
}

// sum counts the instances by state.
func sum(res progress.Progress) string {
	var parts []string
	for _, s := range fleet.CapacityInstanceStates() {
		if n := res.States[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "no instances"
	}
	return strings.Join(parts, ", ")
}
