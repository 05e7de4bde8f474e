package plans

import (
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Submission is what a user wants applied: everything that the definition is
// made from, so that a manager elsewhere reads the same.
type Submission struct {
	Sources []config.Source `json:"sources"`
	// Lock is the text of fleet.lock.hcl.
	Lock      string           `json:"lock"`
	Variables config.Variables `json:"variables"`
	// Prune drains the fleets that the files don't mention.
	Prune bool `json:"prune,omitempty"`
	// Approved has a plan refused as its apply would be: with a *StaleError where it
	// no longer means what was approved, and a *ConflictError where it was used. Nil: it
	// is planned again. An apply has its own.
	Approved *Approval `json:"approved,omitempty"`
}

// NewSubmission is a workspace as it is sent to a manager. Of the environment
// only what sets variables goes along.
func NewSubmission(w workspace.Workspace, variables config.Variables, prune bool) Submission {
	var own []string
	for _, line := range variables.Environment {
		if strings.HasPrefix(line, config.VariablePrefix) {
			own = append(own, line)
		}
	}
	variables.Environment = own
	return Submission{Sources: w.Sources, Lock: string(w.Lock.Bytes()), Variables: variables, Prune: prune}
}

// Approval is what of a plan must still be true when it is applied.
type Approval struct {
	// Serial is of the definition that the plan was made from; 0: none.
	Serial int64 `json:"serial"`
	// Format is Format when the plan was made.
	Format int `json:"format"`
	// Lock is the digest of the plugin lock.
	Lock string `json:"lock"`
	// Settings is the digest of what the plan replaces apart from fleets.
	Settings string `json:"settings"`
	// Fleets are the serials of the fleets that the plan touches, 0 for those
	// that it creates.
	Fleets map[fleet.FleetAddress]int64 `json:"fleets,omitempty"`
	// Authority is the id of the key of the installation that the plan was made
	// for; empty: there was none yet, or any will do.
	Authority string `json:"authority,omitempty"`
	// Saved binds the apply of a saved plan further; nil: it follows its plan at
	// once.
	Saved *SavedApproval `json:"saved,omitempty"`
}

// Format is the version of plans; one of another version is stale.
const Format = 1

// Receipt is an apply that was stored.
type Receipt struct {
	Serial int64 `json:"serial"`
	// Changed says that the definition changed; false: it was current already.
	Changed bool `json:"changed"`
}
