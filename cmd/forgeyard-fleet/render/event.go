package render

import (
	"encoding/json"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/query"
)

// Events shows events as lines, for people or for programs.
func (page Page) Events(events []query.Event, lines bool) error {
	for _, e := range events {
		if lines {
			if err := json.NewEncoder(page.Out).Encode(e); err != nil {
				return err
			}
			continue
		}
		page.Printf("%s  %-9s  %-16s  %s: %s\n", Moment(e.At), e.Kind, subject(e), e.What, e.Text)
	}
	return nil
}

// subject is whom an event is about, in a short form: the fleet and the end of
// the instance's id, which differs most, or who did it.
func subject(e query.Event) string {
	if e.Kind == query.AuditEvent {
		return "by " + e.By
	}
	text := e.Fleet.Name()
	if e.Instance != "" {
		text += " " + ShortID(e.Instance)
	}
	return text
}

// ShortID is the end of an instance's id, which differs most.
func ShortID(id fleet.CapacityInstanceID) string {
	return query.Ellipsis + string(id[max(0, len(id)-query.ShownOfID):])
}
