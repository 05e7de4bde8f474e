package providerpb

// Names of services that no version of the contract defines yet. A plugin that names
// one is refused by the conformance kit: what they will mean isn't settled.
const (
	// PowerService is reserved for stopping and starting an instance that keeps its
	// disks.
	PowerService = "power"
	// RebuildService is reserved for giving an instance a fresh disk from its image.
	RebuildService = "rebuild"
)
