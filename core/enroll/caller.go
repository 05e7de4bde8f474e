package enroll

import (
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// tolerance says how an expired certificate is judged.
type tolerance int

// renewable accepts an expired certificate for the fleet's max_offline.
const renewable tolerance = 1

// caller proves who calls and reads what the store knows of it, on every call,
// so that a revocation counts at once.
func (s *Server) caller(r *http.Request, t tolerance) (Caller, fleet.EnrollmentSubject, error) {
	none := fleet.EnrollmentSubject{}
	caller, err := s.certified(r)
	if err != nil {
		return Caller{}, none, &refusal{status: http.StatusUnauthorized, code: agentapi.CodeUnknownRunner, detail: err.Error()}
	}
	subject, found, err := s.Store.RunnerSubject(r.Context(), caller.Runner)
	if err != nil {
		return Caller{}, none, storeFailed("read a runner", err)
	}
	if !found || subject.Runner == nil || subject.Runner.KeyHash != caller.KeyHash {
		return Caller{}, none, forbidden(agentapi.CodeUnknownRunner, "the manager knows no runner %s with this key", caller.Runner)
	}
	about := []any{"runner", caller.Runner, "instance", subject.Instance.ID}
	if !subject.Runner.Revoked.IsZero() {
		return Caller{}, none, revoked(*subject.Runner).with(about...)
	}
	if subject.Instance.State == fleet.Terminated {
		return Caller{}, none, ended("instance %s is terminated since %s: %s", subject.Instance.ID, stamp(subject.Instance.Since), subject.Instance.Reason).with(about...)
	}
	now := s.Now()
	if now.After(caller.NotAfter) {
		offline := subject.Fleet.Timeouts.MaxOffline
		switch {
		case now.After(caller.NotAfter.Add(offline)):
			return Caller{}, none, forbidden(agentapi.CodeCertificateLapsed, "the certificate expired on %s, longer ago than max_offline (%s) allows; the host must be replaced", stamp(caller.NotAfter), offline).with(about...)
		case t != renewable:
			return Caller{}, none, &refusal{status: http.StatusUnauthorized, code: agentapi.CodeCertificateExpired,
				detail: "the certificate expired on " + stamp(caller.NotAfter) + "; renew it with the same key"}
		}
	}
	return caller, subject, nil
}

func revoked(r fleet.Runner) *refusal {
	return forbidden(agentapi.CodeRevoked, "runner %s was revoked on %s", r.ID, stamp(r.Revoked))
}
