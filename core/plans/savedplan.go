package plans

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// SavedPlan is a plan that is kept to be applied later: once, and exactly as it
// was shown. It holds no secret and no value of a sensitive variable.
type SavedPlan struct {
	// Program is the version of forgeyard-fleet that saved it.
	Program string `json:"program"`
	// Plan is what was shown. Its Approval.Saved says by whom and when.
	Plan Plan `json:"plan"`
	// Submission is what was planned, without the sensitive values.
	Submission Submission `json:"submission"`
	// Sensitive tells whose values those were.
	Sensitive config.Sensitive `json:"sensitive"`
}

// SavedApproval is what binds the apply of a saved plan beyond what binds one
// that follows its plan at once.
type SavedApproval struct {
	// ID is the plan's own: it is applied once.
	ID string `json:"id"`
	// By saved the plan at Made.
	By   string    `json:"by"`
	Made time.Time `json:"made"`
	// Definition is the digest of what the files said.
	Definition string `json:"definition"`
	// Changes is the digest of the differences that were shown.
	Changes string `json:"changes"`
}

// Save makes a plan that can be applied later. The caller of the context is who
// saves it.
func (p Plan) Save(ctx context.Context, s Submission, o workspace.Options) (SavedPlan, error) {
	now := o.Clock().UTC()
	id, err := fleet.NewULID(now, rand.Reader)
	if err != nil {
		return SavedPlan{}, fmt.Errorf("make an id for the plan: %w", err)
	}
	saved := SavedPlan{Program: o.Version, Plan: p, Submission: Submission{Lock: s.Lock, Prune: s.Prune}}
	saved.Plan.Approval.Saved = &SavedApproval{
		ID: id, By: access.CallerOf(ctx).Name, Made: now, Definition: p.Definition, Changes: changesDigest(p.Changes),
	}
	saved.Submission.Sources, saved.Submission.Variables, saved.Sensitive = config.WithholdSensitive(
		s.Sources,
		s.Variables,
	)
	return saved, nil
}

// SubmissionWith is what a saved plan applies, with the sensitive values given
// again. Everything else is the plan's own.
func (p SavedPlan) SubmissionWith(given config.Variables) (Submission, error) {
	for _, name := range given.Assigned() {
		if !slices.Contains(p.Sensitive.Names, name) {
			return Submission{}, fmt.Errorf(
				"the plan has its variables already, and --var %s is none of its sensitive ones, which are all that it takes "+
					"(%s); leave it out, or plan again with it",
				name,
				namesOr("it has none", p.Sensitive.Names),
			)
		}
	}
	again := given.Only(p.Sensitive.Names)
	var missing []string
	for _, name := range p.Sensitive.Needed {
		if !again.Sets(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Submission{}, fmt.Errorf(
			"a plan doesn't hold the values of sensitive variables, and this one needs %s; give each again with --var NAME=…, "+
				"--var-file or %sNAME",
			strings.Join(missing, ", "),
			config.VariablePrefix,
		)
	}
	s := p.Submission
	s.Variables = s.Variables.With(again)
	return s, nil
}

func namesOr(none string, names []string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}

// changesDigest is of the differences that an apply makes; what isn't mentioned
// makes none.
func changesDigest(changes []config.Change) string {
	made := []config.Change{}
	for _, c := range changes {
		if c.Action != config.Drift {
			made = append(made, c)
		}
	}
	return fleet.Digest(made)
}

// differs says what about a fresh plan isn't as it was saved; "": nothing. A nil
// approval binds nothing.
func (s *SavedApproval) differs(fresh Plan) string {
	switch {
	case s == nil:
		return ""
	case s.Changes != changesDigest(fresh.Changes):
		return "it would now change something else than it showed"
	case s.Definition != fresh.Definition:
		return "its files mean something else now than when it was made, as with another version of this program"
	}
	return ""
}

// mayUse refuses a plan of another installation, and one that was used before.
func (p Planner) mayUse(ctx context.Context, a Approval) error {
	own, err := keys.InstallationID(ctx, p.store)
	if err != nil {
		return err
	}
	if a.Authority != "" && a.Authority != own {
		return access.Invalid(
			"the plan was made for another installation that is called %q, too: its authority's key is %.8s…, this one's is "+
				"%.8s…; apply it where it was made, or plan again here",
			p.options.Installation,
			a.Authority,
			own,
		)
	}
	if a.Saved == nil {
		return nil
	}
	if a.Saved.ID == "" {
		return &access.InvalidError{Reason: "the saved plan has no id; plan again"}
	}
	use, found, err := p.store.PlanUse(ctx, a.Saved.ID)
	if err == nil && found {
		err = usedPlan(use.By, use.At, use.Serial)
	}
	return err
}

func usedPlan(by string, at time.Time, serial int64) error {
	return access.Conflict(
		"the plan was used already: %s applied it at %s, and definition %d was current afterwards. A saved plan is good "+
			"once; plan again",
		by,
		fleet.TimeText(at),
		serial,
	)
}
