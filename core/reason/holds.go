package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// FailuresInRow: new instances of a fleet failed one after the other.
type FailuresInRow struct {
	Failures int `json:"failures"`
	// Message is the last error, and Class its error class.
	Message string `json:"message"`
	Class   string `json:"class"`
}

// Text implements Detail.
func (d FailuresInRow) Text() string {
	return fmt.Sprintf("%s in a row; last: %s (%s)", text.Plural(d.Failures, "failure"), text.Clause(d.Message), d.Class)
}

// ProviderDown: a fleet's provider is not started again until a person acts.
type ProviderDown struct {
	Provider string `json:"provider"`
	Message  string `json:"message"`
}

// Text implements Detail.
func (d ProviderDown) Text() string {
	return fmt.Sprintf("provider %s is down until a person acts: %s", d.Provider, text.Clause(d.Message))
}

// Message is the error that a reason is about, as a provider or scheduler gave it; "": it is
// about none.
func Message(r Reason) string {
	switch d := r.Params.(type) {
	case FailuresInRow:
		return d.Message
	case ProviderDown:
		return d.Message
	case OffersUnknown:
		return d.Message
	case Note:
		return d.Words
	}
	return ""
}

var holdReasons = []Detail{
	FailuresInRow{3, "no space left on device", "transient"},
	ProviderDown{"local.here", "the plugin is not installed"},
}
