package agentapi

// Codes of Problem. ReactionTo says what an agent does about each.
const (
	CodeTokenUnknown  = "token_unknown"
	CodeTokenExpired  = "token_expired"
	CodeTokenOtherKey = "token_other_key"
	CodeInstanceEnded = "instance_ended"
	CodeClockSkew     = "clock_skew" // clocks get set
	// CodeIdentityMissing: the fleet takes no host without evidence, and none came.
	CodeIdentityMissing = "identity_missing"
	// CodeIdentityRefused: the evidence is certainly not of this instance.
	CodeIdentityRefused = "identity_refused"
	// CodeIdentityNotMember: the host is verified, and is none of its token's batch.
	CodeIdentityNotMember = "identity_not_member"
	// CodeIdentityStale: the evidence is too old; a newer one may be good.
	CodeIdentityStale = "identity_stale"
	// CodeIdentityUnverified: the evidence can't be verified now.
	CodeIdentityUnverified = "identity_unverified"
	// CodeRevoked is sent on purpose, because somebody took the runner's right to
	// run anything away. No other code ends a job.
	CodeRevoked       = "revoked"
	CodeUnknownRunner = "unknown_runner"
	CodeBadRequest    = "bad_request"
	CodeTryLater      = "try_later"
	// CodeTooMany: too many calls without a certificate failed from this address.
	CodeTooMany = "too_many_calls"
	// CodeCertificateExpired asks for a renewal with the same key at once, and
	// then for the call again.
	CodeCertificateExpired = "certificate_expired"
	// CodeCertificateLapsed: it expired so long ago that it can't be renewed.
	CodeCertificateLapsed = "certificate_lapsed"
)

// Reaction is what an agent does about a problem.
type Reaction string

// The reactions. A manager can be wrong about a runner (a restored store, a bug,
// another manager behind the address), so none but EndJob costs a job.
const (
	// TryAgain: the call is made again, after a while.
	TryAgain Reaction = "tries again"
	// GiveUp: trying again is useless before the agent is a runner. A runner that gets
	// it has a job to finish and a manager that may be mended.
	GiveUp Reaction = "gives up while enrolling, and tries again afterwards"
	// FinishJob acts as a stop: the running job is finished, no other is begun,
	// and then the agent ends. If the manager takes a call of it meanwhile, all
	// is as before.
	FinishJob Reaction = "finishes its job and gives up"
	// EndJob: the job is ended now, and then the agent.
	EndJob Reaction = "ends its job at once and gives up"
)

// reactions has every code.
var reactions = map[string]Reaction{
	CodeTokenUnknown:       GiveUp,
	CodeTokenExpired:       GiveUp,
	CodeTokenOtherKey:      GiveUp,
	CodeBadRequest:         GiveUp,
	CodeIdentityRefused:    GiveUp,
	CodeIdentityNotMember:  GiveUp,
	CodeInstanceEnded:      FinishJob,
	CodeUnknownRunner:      FinishJob,
	CodeCertificateLapsed:  FinishJob,
	CodeRevoked:            EndJob,
	CodeClockSkew:          TryAgain,
	CodeIdentityMissing:    TryAgain,
	CodeIdentityStale:      TryAgain,
	CodeIdentityUnverified: TryAgain,
	CodeCertificateExpired: TryAgain,
	CodeTryLater:           TryAgain,
	CodeTooMany:            TryAgain,
}

// ReactionTo is what an agent does about the code. One that it doesn't know is a
// newer manager's: it tries again.
func ReactionTo(code string) Reaction {
	if r, known := reactions[code]; known {
		return r
	}
	return TryAgain
}
