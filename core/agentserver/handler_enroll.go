package agentserver

import (
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// enroll spends a token for a runner identity (spec §54, §55). A repeated call with the
// same token and key is a lost answer and gets the same identity again, in a
// certificate that is newly signed; with another key it is an alarm.
func (s *Server) enroll(r *http.Request, body []byte) (any, error) {
	var call agentapi.EnrollRequest
	if err := decode(body, &call); err != nil {
		return nil, err
	}
	token, err := resolveToken(r.Context(), s.Store, s.Tokens, call.Token)
	if err != nil {
		return nil, err
	}
	csr, err := pki.ParseCertificateRequest(call.CSR)
	if err != nil {
		return nil, badRequest("%s", err).with(token.about()...)
	}
	if token.batch {
		return s.enrollMember(r, call, csr, token)
	}
	subject := token.subjects[0]
	if subject.Runner != nil {
		return s.enrollAgain(r, call, csr, subject)
	}
	if refused := s.refuseEnrollment(call, subject, lifecycle.AcceptsEnrollment(subject.Instance.State)); refused != nil {
		return nil, refused.with(token.about()...)
	}
	identity, refused := s.identify(r.Context(), call, subject)
	if refused != nil {
		return nil, refused.with(token.about()...)
	}
	return s.enrollFirst(r, call, csr, subject, identity)
}

// enrollFirst spends the token: all that can be checked before is.
func (s *Server) enrollFirst(
	r *http.Request,
	call agentapi.EnrollRequest,
	csr pki.CertificateRequest,
	subject fleet.EnrollmentSubject,
	identity fleet.VerifiedIdentity,
) (any, error) {
	operation := subject.Operation.ID
	about := []any{"operation", operation, "instance", subject.Instance.ID}
	now := s.Now()
	id, err := s.newRunnerID(now)
	if err != nil {
		return nil, err
	}
	certificate, err := s.Authorities.Signing().SignRunner(id, csr.Key, now, s.CertificateLife)
	if err != nil {
		return nil, err
	}
	runner := fleet.Runner{
		ID: id, Instance: subject.Instance.ID, Fleet: subject.Instance.Fleet, Operation: operation,
		KeyHash: csr.KeyHash, Serial: certificate.Serial, NotAfter: certificate.NotAfter, Enrolled: now,
		Issuer: certificate.Issuer, Authority: pinnedAuthority(s.Authorities, r),
		Address: address(r), Skew: call.Clock.Sub(now), AgentVersion: clean(call.AgentVersion, maxName),
		Platform: fleet.PlatformOf(call.OS, call.Arch), Identity: identity,
	}
	failpoint.EnrollmentUncommitted.Hit()
	err = s.Store.Enroll(r.Context(), runner, subject.Operation.TokenHash)
	var already *fleet.AlreadyEnrolledError
	if errors.As(err, &already) {
		// The same agent's first try, or somebody else's, was a moment faster.
		subject.Runner = &already.Existing
		return s.enrollAgain(r, call, csr, subject)
	}
	if taken, ok := errors.AsType[*fleet.IdentityTakenError](err); ok {
		return nil, forbidden(agentapi.CodeIdentityRefused, "%s; two hosts claim the same resource", taken).with(about...)
	}
	if errors.As(err, new(*fleet.VoidTokenError)) {
		return nil, replacedToken().with(about...)
	}
	if err != nil {
		return nil, storeFailed("spend the token", err)
	}
	failpoint.EnrollmentCommitted.Hit()
	s.Logger.Info(
		"an agent enrolled",
		append(about, "runner", id, "address", runner.Address, "agent_version", runner.AgentVersion)...)
	s.Wake()
	return s.enrolled(id, certificate, subject.Fleet), nil
}

// enrollAgain answers a token that was spent before.
func (s *Server) enrollAgain(
	r *http.Request,
	call agentapi.EnrollRequest,
	csr pki.CertificateRequest,
	subject fleet.EnrollmentSubject,
) (any, error) {
	runner := *subject.Runner
	about := []any{"operation", subject.Operation.ID, "instance", subject.Instance.ID, "runner", runner.ID}
	if runner.KeyHash != csr.KeyHash {
		return nil, s.refuseOtherKey(r, subject).with(about...)
	}
	if !runner.Revoked.IsZero() {
		return nil, revoked(runner).with(about...)
	}
	if !runner.Left.IsZero() {
		return nil, ended(
			"this runner left on %s (%s); its instance is being removed",
			stamp(runner.Left),
			runner.LeftReason,
		).with(about...)
	}
	state := subject.Instance.State
	over := state == fleet.Failed || state == fleet.Terminating || state == fleet.Terminated
	if refused := s.refuseEnrollment(call, subject, !over); refused != nil {
		return nil, refused.with(about...)
	}
	now := s.Now()
	certificate, err := s.Authorities.Signing().SignRunner(runner.ID, csr.Key, now, s.CertificateLife)
	if err != nil {
		return nil, err
	}
	s.recorder.record(runner, 0, func(f *fleet.Runner) {
		f.Serial, f.NotAfter, f.Issuer = certificate.Serial, certificate.NotAfter, certificate.Issuer
		f.Address, f.Skew, f.Authority = address(r), call.Clock.Sub(now), pinnedAuthority(s.Authorities, r)
	})
	s.Logger.Info("an agent enrolled again with the same key", append(about, "address", address(r))...)
	return s.enrolled(runner.ID, certificate, subject.Fleet), nil
}

// refuseEnrollment holds the checks that the first and a repeated call share.
func (s *Server) refuseEnrollment(call agentapi.EnrollRequest, subject fleet.EnrollmentSubject, accepts bool) *refusal {
	now := s.Now()
	if !now.Before(subject.Operation.TokenExpires) {
		return forbidden(
			agentapi.CodeTokenExpired,
			"the token expired on %s; the manager's clock says %s",
			stamp(subject.Operation.TokenExpires),
			stamp(now),
		)
	}
	if !accepts {
		why := ""
		if !subject.Instance.Reason.IsZero() {
			why = ": " + subject.Instance.Reason.Text()
		}
		return ended(
			"instance %s is %s since %s and accepts no agent any more%s",
			subject.Instance.ID,
			subject.Instance.State,
			stamp(subject.Instance.Since),
			why,
		)
	}
	if !platformName.MatchString(call.OS) || !platformName.MatchString(call.Arch) {
		return badRequest("os and arch must be Go's names, such as linux and amd64")
	}
	if skew := call.Clock.Sub(now); skew.Abs() > fleet.MaxClockSkew {
		return &refusal{
			status: http.StatusConflict,
			code:   agentapi.CodeClockSkew,
			detail: "the host's clock says " + stamp(call.Clock) +
				" and the manager's " + stamp(now) + ": they may differ by " + fleet.MaxClockSkew.String() +
				" at most; correct the wrong one",
		}
	}
	return nil
}

// refuseOtherKey records that a spent token came with another key. Before
// admission it is unknown which of the two is the host, so the instance is
// quarantined; afterwards a job may have read the token, which must not be a way
// to take its own host down.
func (s *Server) refuseOtherKey(r *http.Request, subject fleet.EnrollmentSubject) *refusal {
	now := s.Now()
	from := address(r)
	s.recorder.record(*subject.Runner, 0, func(f *fleet.Runner) {
		f.Alert = "the enrollment token was used with another key on " + stamp(now) + " from " + from
		f.Tampered = f.Tampered || lifecycle.AcceptsEnrollment(subject.Instance.State)
	})
	refused := forbidden(agentapi.CodeTokenOtherKey, "the token was already spent with another key")
	if err := s.recorder.flush(r.Context()); err != nil {
		_ = refused.with("not_stored_yet", err)
	}
	return refused
}

func (s *Server) enrolled(id fleet.RunnerID, c pki.ClientCertificate, f fleet.ManagedFleet) agentapi.EnrollResponse {
	return agentapi.EnrollResponse{
		RunnerID: string(id), Certificate: s.certificate(c, f), ProbeCapabilities: f.Class.Capabilities,
	}
}

// certificate tells the agent to renew at about half the certificate's life,
// spread so that hosts that booted together don't renew together.
func (s *Server) certificate(c pki.ClientCertificate, f fleet.ManagedFleet) agentapi.Certificate {
	half := s.CertificateLife.Seconds() / 2
	return agentapi.Certificate{
		PEM:               c.PEM,
		RenewAfterSeconds: max(1, int64(half*(1-0.2*s.Jitter()))),
		MaxOfflineSeconds: int64(f.Timeouts.MaxOffline.Seconds()),
	}
}

func (s *Server) newRunnerID(now time.Time) (fleet.RunnerID, error) {
	s.random.Lock()
	defer s.random.Unlock()
	id, err := fleet.NewULID(now, s.Random)
	return fleet.RunnerID(id), err
}

var platformName = regexp.MustCompile(`^[a-z0-9]{1,16}$`)

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
