package render

import (
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// toJoin shows the hosts that wait for a person, with what to do.
func (page Page) toJoin(indent string, f fleet.FleetAddress, hosts []planner.HostToJoin) {
	if len(hosts) == 0 {
		return
	}
	wait := "wait"
	if len(hosts) == 1 {
		wait = "waits"
	}
	page.Printf("%s%s %s to be joined. Run:\n", indent, text.Plural(len(hosts), "host"), wait)
	for _, h := range hosts {
		command := []string{"forgeyard-fleet", "token", "create", "--join", h.Host}
		if h.Ambiguous {
			command = append(command, "--fleet", text.ShellQuote(f.Name()))
		}
		until := ""
		if !h.Until.IsZero() {
			until = "   (claimed; the line is valid until " + Moment(h.Until) + ")"
		}
		page.Printf("%s  %s%s\n", indent, strings.Join(command, " "), until)
	}
}
