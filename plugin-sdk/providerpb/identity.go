package providerpb

// IdentityService among the services says that the plugin serves IdentityVerifier.
const IdentityService = "identity"

// Limits of evidence, which comes from any client that can reach the manager.
const (
	// MaxEvidenceBytes bounds the document and the signature, each.
	MaxEvidenceBytes = 16 << 10
	// MaxIdentityText bounds each text of a verdict; a verdict with a longer one is ignored.
	MaxIdentityText = 512
)
