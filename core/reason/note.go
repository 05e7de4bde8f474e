package reason

import "github.com/forgeyard/forgeyard-fleet/core/reason/text"

// Note is a text that somebody made elsewhere. It is a bridge while the loop still
// makes texts of its own, and goes with the last of them: use it for nothing new.
type Note struct {
	Words string `json:"words"`
}

// Text implements Detail.
func (d Note) Text() string { return text.Clause(d.Words) }

// Plain is a Note; no reason where the text is empty.
func Plain(words string) Reason {
	if words == "" {
		return Reason{}
	}
	return Of(Note{words})
}

var noteReasons = []Detail{
	Note{"the provider gave no reason"},
}
