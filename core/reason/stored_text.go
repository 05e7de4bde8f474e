package reason

import "github.com/forgeyard/forgeyard-fleet/core/reason/text"

// StoredText is a reason that an earlier version of this program stored as a text alone.
// Nothing gives one for something new.
type StoredText struct {
	Words string `json:"words"`
}

// Text implements Detail.
func (d StoredText) Text() string { return text.Clause(d.Words) }

// Plain is a StoredText; no reason where the text is empty.
func Plain(words string) Reason {
	if words == "" {
		return Reason{}
	}
	return Of(StoredText{words})
}

var storedReasons = []Detail{
	StoredText{"the provider gave no reason"},
}
