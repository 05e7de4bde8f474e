package reason

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// FleetFrozen: a person froze the fleet or its provider, so no instance starts, drains
// or ends.
type FleetFrozen struct {
	Missing int `json:"missing,omitempty"`
	// Provider is set where all of it is frozen.
	Provider string `json:"provider,omitempty"`
}

// Text implements Detail.
func (d FleetFrozen) Text() string {
	if d.Provider != "" {
		return missing(d.Missing, "provider "+d.Provider+" is frozen")
	}
	return missing(d.Missing, "the fleet is frozen")
}

// FleetQuarantined: a person quarantined the fleet or its image, so no instance starts.
type FleetQuarantined struct {
	Missing int `json:"missing,omitempty"`
	// Image is the digest, where that is quarantined.
	Image string `json:"image,omitempty"`
}

// Text implements Detail.
func (d FleetQuarantined) Text() string {
	if d.Image != "" {
		return missing(d.Missing, "the fleet's image is quarantined")
	}
	return missing(d.Missing, "the fleet is quarantined")
}

// JoinedByHand: a person has to join the hosts that are missing.
type JoinedByHand struct {
	Missing int `json:"missing,omitempty"`
}

// Text implements Detail.
func (d JoinedByHand) Text() string { return missing(d.Missing, "hosts are joined by hand") }

// HeldBack: something went wrong with new instances, so none starts for now.
type HeldBack struct {
	// Outdated instances can't be replaced meanwhile.
	Outdated int    `json:"outdated,omitempty"`
	Because  Reason `json:"because"`
	// NextTry is when instances may start again; left out: when a person acts, or it
	// isn't known.
	NextTry Instant `json:"next_try,omitempty"`
}

// Text implements Detail.
func (d HeldBack) Text() string { return d.TextAt(time.Time{}) }

// TextAt says how long it is until the next try.
func (d HeldBack) TextAt(now time.Time) string {
	why := d.Because.TextAt(now) + nextTry(d.NextTry, now)
	if d.Outdated > 0 {
		return text.Plural(d.Outdated, "instance") + " outdated, but none can start: " + why
	}
	return why
}

// NoOffer: none of the fleet's offers can be used now.
type NoOffer struct {
	Missing int    `json:"missing,omitempty"`
	Because Reason `json:"because"`
	// NextTry is when an offer may be tried again; left out: it isn't known.
	NextTry Instant `json:"next_try,omitempty"`
}

// Text implements Detail.
func (d NoOffer) Text() string { return d.TextAt(time.Time{}) }

// TextAt says how long it is until the next try.
func (d NoOffer) TextAt(now time.Time) string {
	return missing(d.Missing, d.Because.TextAt(now)+nextTry(d.NextTry, now))
}

// nextTry is when something is tried again, relative to now where that is known.
func nextTry(at Instant, now time.Time) string {
	switch {
	case at == 0:
		return ""
	case now.IsZero():
		return "; next try at " + at.Time().Format("15:04:05 UTC")
	case !at.Time().After(now):
		return ""
	}
	return "; next try in " + text.In(at.Time(), now)
}

// WithNextTry is the text of a reason with how long it is until something is tried
// again; a time that is over, or none, isn't said.
func WithNextTry(r Reason, until, now time.Time) string {
	if !until.After(now) {
		return r.TextAt(now)
	}
	return r.TextAt(now) + nextTry(At(until), now)
}

// OneRequestFirst: one request, which may be another fleet's, tries first whether there
// is capacity again.
type OneRequestFirst struct {
	Missing int `json:"missing,omitempty"`
}

// Text implements Detail.
func (d OneRequestFirst) Text() string {
	return missing(d.Missing, "one request tries first whether there is capacity again")
}

// FleetProtected: a protected fleet has the size that its file says.
type FleetProtected struct {
	Missing int `json:"missing,omitempty"`
	// Excess is how many instances more than Desired stay.
	Excess  int `json:"excess,omitempty"`
	Desired int `json:"desired,omitempty"`
}

// Text implements Detail.
func (d FleetProtected) Text() string {
	const why = "a protected fleet keeps the size in its file"
	if d.Excess > 0 {
		return above(d.Excess, d.Desired, why)
	}
	return missing(d.Missing, why)
}

// CanariesFirst: new instances of a rollout wait until its canaries were healthy for the
// soak.
type CanariesFirst struct {
	Missing int `json:"missing,omitempty"`
}

// Text implements Detail.
func (d CanariesFirst) Text() string {
	return missing(d.Missing, "no more new instances until the canaries have soaked")
}

// StepLimit: scale_up.max_step instances started within its window.
type StepLimit struct {
	Missing int      `json:"missing,omitempty"`
	MaxStep int      `json:"max_step"`
	Window  Duration `json:"window"`
	Started int      `json:"started"`
}

// Text implements Detail.
func (d StepLimit) Text() string {
	return missing(d.Missing, fmt.Sprintf("limited by scale_up max_step = %d in %s, %d started", d.MaxStep,
		d.Window, d.Started))
}

// EntitlementLimit: the entitlements to the fleet's class allow no more instances.
type EntitlementLimit struct {
	Missing      int          `json:"missing,omitempty"`
	Entitlements List[string] `json:"entitlements"`
	Class        string       `json:"class"`
	Allowed      int          `json:"allowed"`
	Instances    int          `json:"instances"`
}

// Text implements Detail.
func (d EntitlementLimit) Text() string {
	names := strings.Join(d.Entitlements.parts(text.Quote), ", ")
	noun, verb, together := "the entitlement", "allows", ""
	if d.Entitlements.Len() > 1 {
		noun, verb, together = "the entitlements", "allow", " together"
	}
	return missing(d.Missing, fmt.Sprintf("%s %s %s %s of class %s%s, %d in use", noun, names, verb,
		text.Plural(d.Allowed, "instance"), text.Quote(d.Class), together, d.Instances))
}

// ProviderCount is how many instances a provider has.
type ProviderCount struct {
	Provider  string `json:"provider"`
	Instances int    `json:"instances"`
}

func (c ProviderCount) text() string { return fmt.Sprintf("%s has %d", c.Provider, c.Instances) }

// SpreadLimit: a required spread over providers allows no more instances at the fleet's.
type SpreadLimit struct {
	Missing   int                 `json:"missing,omitempty"`
	Class     string              `json:"class"`
	Providers List[ProviderCount] `json:"providers"`
}

// Text implements Detail.
func (d SpreadLimit) Text() string {
	return missing(d.Missing, fmt.Sprintf("no provider may have more than its even share of class %s: %s",
		text.Quote(d.Class), strings.Join(d.Providers.parts(ProviderCount.text), ", ")))
}

// SpreadOverProviders: instances start at this provider, or elsewhere, to spread the class
// over providers, though they would cost less where they don't.
type SpreadOverProviders struct {
	Class string `json:"class"`
	// More start here, or Fewer.
	More      int                 `json:"more,omitempty"`
	Fewer     int                 `json:"fewer,omitempty"`
	Providers List[ProviderCount] `json:"providers"`
}

// Text implements Detail.
func (d SpreadOverProviders) Text() string {
	change := text.Plural(d.More, "more instance")
	if d.Fewer > 0 {
		change = text.Plural(d.Fewer, "fewer instance")
	}
	return fmt.Sprintf("%s here to spread class %s over providers: %s", change, text.Quote(d.Class),
		strings.Join(d.Providers.parts(ProviderCount.text), ", "))
}

var exampleShares = ListOf(ProviderCount{"cloud.a", 1}, ProviderCount{"local.b", 3})

var limitReasons = []Detail{
	FleetFrozen{Missing: 2},
	FleetQuarantined{Missing: 2},
	JoinedByHand{Missing: 2},
	HeldBack{Because: Plain("3 failures in a row"), NextTry: exampleInstant},
	NoOffer{Missing: 2, Because: Of(OffersEmpty{}), NextTry: exampleInstant},
	OneRequestFirst{Missing: 2},
	FleetProtected{Excess: 1, Desired: 2},
	CanariesFirst{Missing: 2},
	StepLimit{Missing: 2, MaxStep: 5, Window: Duration(time.Minute), Started: 5},
	EntitlementLimit{2, ListOf("mobile"), "mac", 4, 4},
	SpreadLimit{2, "linux", exampleShares},
	SpreadOverProviders{Class: "linux", More: 2, Providers: exampleShares},
}
