package agentserver

import (
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// renew signs a new certificate for the same key. One that expired while the
// manager was away still renews for the fleet's max_offline.
func (s *Server) renew(r *http.Request, body []byte) (any, error) {
	caller, err := s.authorize(r, acceptWithinMaxOffline)
	if err != nil {
		return nil, err
	}
	var call agentapi.RenewRequest
	if err := decode(body, &call); err != nil {
		return nil, err
	}
	csr, err := pki.ParseCertificateRequest(call.CSR)
	if err != nil {
		return nil, badRequest("%s", err).with("runner", caller.Runner)
	}
	if csr.KeyHash != caller.KeyHash {
		return nil, badRequest("a renewal is for the same key").with("runner", caller.Runner)
	}
	now := s.Now()
	certificate, err := s.Authorities.Signing().SignRunner(caller.Runner, csr.Key, now, s.CertificateLife)
	if err != nil {
		return nil, err
	}
	failpoint.RenewalUnrecorded.Hit()
	s.recorder.record(*caller.subject.Runner, 0, func(f *fleet.Runner) {
		f.Serial, f.NotAfter, f.Issuer = certificate.Serial, certificate.NotAfter, certificate.Issuer
		f.Address, f.Skew, f.Authority = address(r), call.Clock.Sub(now), pinnedAuthority(s.Authorities, r)
	})
	failpoint.RenewalRecorded.Hit()
	return s.certificate(certificate, caller.subject.Fleet), nil
}
