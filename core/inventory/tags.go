package inventory

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
)

// ProofTag is the tag with the proof that a resource is ours.
const ProofTag = "forgeyard-proof"

// The tags that a provider stores with a resource (spec §155). The names that plugins
// know are the contract's. Values are labels: 1 to 63 of [a-z0-9-], with a letter or digit
// at both ends, as far as the installation's name is one.
const (
	InstallationTag = "forgeyard-installation"
	FleetTag        = "forgeyard-fleet"
	InstanceTag     = "forgeyard-capacity-instance"
	KeyTag          = "forgeyard-key"
	imageTag        = "forgeyard-image"
	tenantTag       = "forgeyard-tenant"
	projectTag      = "forgeyard-project"
)

// Owner is the installation whose resources are told from those of others.
type Owner struct {
	Installation string
	// Keys prove resources to be its own. A rotation may replace them between two
	// steps, so an Owner is made when it is needed and not kept.
	Keys ownership.Keyring
}

// Tags are what a new resource gets. They help to find it and are no authority
// (spec §156), but for the proof, which only this installation's key can make.
func (o Owner) Tags(f fleet.ManagedFleet, i fleet.CapacityInstance) (map[string]string, error) {
	tags := map[string]string{
		InstallationTag: o.Installation,
		FleetTag:        string(f.ID),
		InstanceTag:     string(i.ID),
		KeyTag:          string(i.Key),
		imageTag:        fleet.ShortDigest(string(i.Image)),
	}
	if f.Scope.Tenant != "" {
		tags[tenantTag] = tagValue(f.Scope.Tenant)
	}
	if f.Scope.Project != "" {
		tags[projectTag] = tagValue(f.Scope.Project)
	}
	var err error
	tags[ProofTag], err = o.Keys.Prove(o.claimOf(i))
	return tags, err
}

// claimOf is what the proof of an instance's resources is about.
func (o Owner) claimOf(i fleet.CapacityInstance) ownership.Claim {
	return ownership.Claim{Installation: o.Installation, Fleet: i.Fleet, Instance: i.ID, Key: i.Key}
}

// ClaimIn is what tags say of themselves. It proves nothing.
func ClaimIn(tags map[string]string) ownership.Claim {
	return ownership.Claim{
		Installation: tags[InstallationTag], Fleet: fleet.RunnerFleetID(tags[FleetTag]),
		Instance: fleet.CapacityInstanceID(tags[InstanceTag]), Key: fleet.OperationID(tags[KeyTag]),
	}
}

var validTag = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

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
	return cmp.Or(strings.TrimRight(fitting[:min(len(fitting), 50)], "-"), "x") + "-" +
		fleet.ShortDigest(fleet.DigestBytes([]byte(name)))
}

// InstanceName is a name for people that fits a host name: the fleet and the end
// of the key.
func InstanceName(a fleet.FleetAddress, key fleet.OperationID) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, a.Name()), "-")
	return strings.TrimRight(name[:min(len(name), 50)], "-") + "-" + string(key[len(key)-8:])
}
