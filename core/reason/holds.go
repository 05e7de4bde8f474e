package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// FailuresInRow: new instances of a fleet failed one after the other.
type FailuresInRow struct {
	Failures int `json:"failures"`
	// Last is what went wrong with the last, and Class its error class.
	Last  Reason `json:"last"`
	Class string `json:"class"`
}

// Text implements Detail.
func (d FailuresInRow) Text() string {
	return fmt.Sprintf("%s in a row; last: %s (%s)", text.Plural(d.Failures, "failure"), d.Last.Text(), d.Class)
}

// ProviderDown: a fleet's provider is not started again until a person acts.
type ProviderDown struct {
	Provider string `json:"provider"`
	Because  Reason `json:"because"`
}

// Text implements Detail.
func (d ProviderDown) Text() string {
	return fmt.Sprintf("provider %s is down until a person acts: %s", d.Provider, d.Because.Text())
}

// SameCause says that two reasons come from the same thing that went wrong: one may hold a
// fleet back since the other is so.
func SameCause(a, b Reason) bool {
	a, b = cause(a), cause(b)
	if a.IsZero() || b.IsZero() {
		return false
	}
	from, also := message(a), message(b)
	return a == b || from != "" && from == also
}

// cause is what a hold comes from.
func cause(r Reason) Reason {
	switch d := r.Params.(type) {
	case FailuresInRow:
		return d.Last
	case ProviderDown:
		return d.Because
	case OffersUnknown:
		return d.Because
	}
	return r
}

// message is what a program said outside of the manager; "": nothing.
func message(r Reason) string {
	switch d := r.Params.(type) {
	case ProviderError:
		return d.Message
	case PluginDown:
		return d.Message
	case InspectionFailed:
		return d.Message
	}
	return ""
}

var holdReasons = []Detail{
	FailuresInRow{3, Of(ProviderError{"no space left on device"}), "transient"},
	ProviderDown{"local.here", Of(PluginDown{"the plugin is not installed"})},
}
