package agentserver

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// connection is what is known of one connection.
type connection struct {
	net.Conn
	verified atomic.Pointer[verifiedCertificate]
}

// verifiedCertificate is whom the certificate of a connection identifies. Its owner
// proved possession of the key once, for the connection, and verifying the signature
// again at each heartbeat would be most of what a heartbeat costs.
type verifiedCertificate struct {
	leaf   *x509.Certificate
	by     *pki.TrustedAuthorities // those that were trusted then
	client pki.ClientIdentity
}

// authenticate finds the owner of a call's client certificate. Only the verified
// signature is remembered, for as long as the same authorities are trusted; what may
// change at any time, such as a revocation, is read from the store at every call.
func (s *Server) authenticate(r *http.Request) (pki.ClientIdentity, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return pki.ClientIdentity{}, errors.New("this endpoint requires the runner's client certificate")
	}
	leaf, trusted, on := r.TLS.PeerCertificates[0], s.Authorities.Current(), connectionOf(r)
	if on != nil {
		if v := on.verified.Load(); v != nil && v.leaf == leaf && v.by == trusted {
			return v.client, nil
		}
	}
	client, err := trusted.VerifyClient(leaf)
	if on != nil && err == nil {
		on.verified.Store(&verifiedCertificate{leaf: leaf, by: trusted, client: client})
	}
	return client, err
}

// isRunner says whether the caller shows a client certificate of this installation.
// Handlers check whether it is still valid.
func (s *Server) isRunner(r *http.Request) bool {
	_, err := s.authenticate(r)
	return err == nil
}
