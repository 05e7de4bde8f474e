package loop

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/ownership"
)

// ProofTag is the tag with the proof that a resource is ours.
const ProofTag = "forgeyard-proof"

// The tags that a provider stores with a resource [155]. Values match
// [a-z0-9-]{1,63}.
const (
	tagInstallation = "forgeyard-installation"
	tagFleet        = "forgeyard-fleet"
	tagInstance     = "forgeyard-capacity-instance"
	tagKey          = "forgeyard-key"
	tagImage        = "forgeyard-image"
	tagTenant       = "forgeyard-tenant"
	tagProject      = "forgeyard-project"
)

// tags are what a new resource gets. They help to find it and are no authority
// [156], but for the proof, which only this installation's key can make.
func (l *Loop) tags(f fleet.ManagedFleet, i fleet.CapacityInstance) (map[string]string, error) {
	tags := map[string]string{
		tagInstallation: l.settings.Installation,
		tagFleet:        string(f.ID),
		tagInstance:     string(i.ID),
		tagKey:          string(i.Key),
		tagImage:        short(string(i.Image)),
	}
	if f.Scope.Tenant != "" {
		tags[tagTenant] = tagValue(f.Scope.Tenant)
	}
	if f.Scope.Project != "" {
		tags[tagProject] = tagValue(f.Scope.Project)
	}
	var err error
	tags[ProofTag], err = l.keys().Prove(l.claimOf(i))
	return tags, err
}

// keys are the ownership keys as they are now: a rotation may replace them
// between two steps.
func (l *Loop) keys() ownership.Keyring {
	if l.settings.Ownership == nil {
		return ownership.Keyring{}
	}
	return l.settings.Ownership()
}

// claimOf is what the proof of an instance's resources is about.
func (l *Loop) claimOf(i fleet.CapacityInstance) ownership.Claim {
	return ownership.Claim{Installation: l.settings.Installation, Fleet: i.Fleet, Instance: i.ID, Key: i.Key}
}

// claimIn is what tags say of themselves. It proves nothing.
func claimIn(tags map[string]string) ownership.Claim {
	return ownership.Claim{
		Installation: tags[tagInstallation], Fleet: fleet.RunnerFleetID(tags[tagFleet]),
		Instance: fleet.CapacityInstanceID(tags[tagInstance]), Key: fleet.OperationID(tags[tagKey]),
	}
}

var validTag = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// tagValue makes a name fit a tag. One that doesn't fit as it is keeps apart from
// those that read like it by the beginning of its digest.
func tagValue(name string) string {
	if validTag.MatchString(name) {
		return name
	}
	fitting := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(name)), "-")
	return cmp.Or(fitting[:min(len(fitting), 50)], "x") + "-" + short(fleet.DigestBytes([]byte(name)))
}
