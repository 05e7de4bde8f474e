package view

import (
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Interruption is what an instance's provider announced.
type Interruption struct {
	fleet.Interruption
	// Sentence says it for a person.
	Sentence string `json:"sentence"`
}

func interruptionOf(i *fleet.Interruption) *Interruption {
	if i == nil {
		return nil
	}
	return &Interruption{Interruption: *i, Sentence: sentenceOf(*i)}
}

// sentenceOf says what was announced, by whom, and what follows from it.
func sentenceOf(i fleet.Interruption) string {
	text := i.Announcement() + " at " + i.Heard.UTC().Format(time.RFC3339)
	switch {
	case !i.Withdrawn.IsZero():
		return text + fmt.Sprintf(" and withdrawn at %s: it leaves after its jobs.", i.Withdrawn.UTC().Format(time.RFC3339))
	case i.Kind != fleet.NoticeInterruption:
		return text + ": it leaves after its jobs."
	case i.Deadline.IsZero():
		return text + ": it gets no more jobs, and those that it has when it goes are run again."
	}
	return text + ": it gets no more jobs, and those that it has then are run again."
}

// interruptions are a fleet's instances about which something was announced.
func interruptions(members []member) (lines []string) {
	for _, i := range members {
		if i.Interruption != nil {
			lines = append(lines, fmt.Sprintf("%s: %s", i.ID, sentenceOf(*i.Interruption)))
		}
	}
	return lines
}
