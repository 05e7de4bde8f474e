package providerpb

// AttestationsService among the services says that the plugin serves Attestations.
const AttestationsService = "attestations"

// Words that the infrastructure can vouch for, and an agent could only claim.
const (
	// AttestKVM: the instance can run virtual machines of its own in hardware.
	AttestKVM = "kvm"
	// AttestGPU: it has a graphics processor.
	AttestGPU = "gpu"
	// AttestSigning: it may hold signing keys.
	AttestSigning = "signing"
	// AttestConfidential: its memory is hidden from the infrastructure.
	AttestConfidential = "confidential"
)
