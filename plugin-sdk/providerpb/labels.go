package providerpb

import "regexp"

// MaxLabel is how long a key, a fleet id, an instance digest and the value of a tag are
// at most, in bytes: 63, as in a DNS label, a Kubernetes label and those of most clouds.
const MaxLabel = 63

// Label is the form of keys, fleet ids, instance digests and the values of tags.
var Label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// The names of the tags that every request carries. The host may add others.
const (
	// TagInstallation has ConfigureRequest.installation.
	TagInstallation = "forgeyard-installation"
	// TagFleet has ProvisionRequest.fleet.
	TagFleet = "forgeyard-fleet"
	// TagInstance has the host's own id of the instance.
	TagInstance = "forgeyard-capacity-instance"
	// TagKey has Item.key.
	TagKey = "forgeyard-key"
	// TagProof has the host's proof that the resource is its own.
	TagProof = "forgeyard-proof"
)
