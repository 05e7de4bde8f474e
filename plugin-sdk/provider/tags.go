package provider

import "github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"

// The tags that the host puts into ProvisionRequest.Tags, beside others that it may add.
// A plugin stores them all and needs to know only the ones that it searches by.
const (
	TagInstallation = providerpb.TagInstallation // whose it is: Environment.Installation
	TagFleet        = providerpb.TagFleet        // ProvisionRequest.Fleet
	TagInstance     = providerpb.TagInstance     // the host's own id of the instance
	TagKey          = providerpb.TagKey          // ProvisionRequest.Key
	TagProof        = providerpb.TagProof        // the proof that it is ours
)

// MaxLabel is how long a Label is at most.
const MaxLabel = providerpb.MaxLabel

// IsLabel says whether a text is 1 to 63 lower-case letters, digits and dashes with a
// letter or digit at both ends. Keys, fleet ids, instance digests and the values of tags
// are: they fit into the labels, names and tags of every infrastructure that the authors
// of the contract know.
func IsLabel(text string) bool { return providerpb.Label.MatchString(text) }
