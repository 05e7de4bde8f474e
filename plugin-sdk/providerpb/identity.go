package providerpb

// IdentityService among the services says that the plugin serves IdentityVerifier.
const IdentityService = "identity"

// Limits of evidence, which comes from whoever can reach the manager.
const (
	// MaxEvidenceBytes bounds the document and the signature, each.
	MaxEvidenceBytes = 16 << 10
	// MaxIdentityText bounds each text of a verdict; a longer one is no verdict.
	MaxIdentityText = 512
)
