package agentserver

import (
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// expiryPolicy says how an expired client certificate is treated.
type expiryPolicy int

const (
	refuseExpired expiryPolicy = iota
	// acceptWithinMaxOffline takes an expired certificate for the fleet's max_offline,
	// so that it can be renewed.
	acceptWithinMaxOffline
)

// authorizedCaller is a runner that may call now, with what the store knows of it.
type authorizedCaller struct {
	pki.ClientIdentity
	subject fleet.EnrollmentSubject
}

// authorize identifies the caller and reads what the store knows of it, on every call,
// so that a revocation counts at once.
func (s *Server) authorize(r *http.Request, expired expiryPolicy) (authorizedCaller, error) {
	none := authorizedCaller{}
	client, err := s.authenticate(r)
	if err != nil {
		return none, &refusal{status: http.StatusUnauthorized, code: agentapi.CodeUnknownRunner, detail: err.Error()}
	}
	subject, found, err := s.Store.RunnerSubject(r.Context(), client.Runner)
	if err != nil {
		return none, storeFailed("read a runner", err)
	}
	if !found || subject.Runner == nil || subject.Runner.KeyHash != client.KeyHash {
		return none, forbidden(
			agentapi.CodeUnknownRunner,
			"runner %s with this key is not known to the manager",
			client.Runner,
		)
	}
	about := []any{"runner", client.Runner, "instance", subject.Instance.ID}
	if !subject.Runner.Revoked.IsZero() {
		return none, revoked(*subject.Runner).with(about...)
	}
	if subject.Instance.State == fleet.Terminated {
		return none, ended(
			"instance %s is terminated since %s: %s",
			subject.Instance.ID,
			stamp(subject.Instance.Since),
			subject.Instance.Reason,
		).with(about...)
	}
	if refused := refuseExpiry(client, subject.Fleet.Timeouts.MaxOffline, s.Now(), expired); refused != nil {
		return none, refused.with(about...)
	}
	return authorizedCaller{client, subject}, nil
}

// refuseExpiry is the refusal of a certificate that expired; nil: it counts.
func refuseExpiry(client pki.ClientIdentity, maxOffline time.Duration, now time.Time, expired expiryPolicy) *refusal {
	switch {
	case !now.After(client.NotAfter):
		return nil
	case now.After(client.NotAfter.Add(maxOffline)):
		return forbidden(
			agentapi.CodeCertificateLapsed,
			"the certificate expired on %s, longer ago than max_offline (%s) allows; the host must be replaced",
			stamp(client.NotAfter),
			maxOffline,
		)
	case expired == acceptWithinMaxOffline:
		return nil
	}
	return &refusal{status: http.StatusUnauthorized, code: agentapi.CodeCertificateExpired,
		detail: "the certificate expired on " + stamp(client.NotAfter) + "; renew it with the same key"}
}

func revoked(r fleet.Runner) *refusal {
	return forbidden(agentapi.CodeRevoked, "runner %s was revoked on %s", r.ID, stamp(r.Revoked))
}
