package argument

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Fleet is the fleet of a name or address.
func Fleet(fleets []view.Fleet, name string) ([]view.Fleet, error) {
	n := slices.IndexFunc(fleets, func(f view.Fleet) bool { return string(f.Address) == name || f.Address.Name() == name })
	if n >= 0 {
		return fleets[n : n+1], nil
	}
	e := &NoFleetError{name: name}
	for _, f := range fleets {
		e.there = append(e.there, f.Address.Name())
	}
	return nil, e
}

// NoFleetError says that no fleet has a name, and which names fleets have.
type NoFleetError struct {
	name  string
	there []string
}

func (e *NoFleetError) Error() string {
	if len(e.there) == 0 {
		return fmt.Sprintf("fleet %q not found; no fleets exist. Add a fleet block and run:\n  forgeyard-fleet apply", e.name)
	}
	return fmt.Sprintf("fleet %q not found; fleets: %s", e.name, strings.Join(e.there, ", "))
}
