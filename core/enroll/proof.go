package enroll

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
)

// connection is what is known of one connection.
type connection struct {
	net.Conn
	proof atomic.Pointer[proof]
}

// proof is what the certificate of a connection was found to be. Its owner showed
// the key once, for the connection, and verifying the signature anew at each beat
// would be most of what a beat costs.
type proof struct {
	leaf   *x509.Certificate
	by     *[]*Authority // those that were trusted then
	caller Caller
}

// certified is the owner of a call's certificate. Only what the authorities say of
// it is remembered, for as long as they are the same; what may change at any
// time, such as a revocation, is asked of the store at every call.
func (s *Server) certified(r *http.Request) (Caller, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return Caller{}, errors.New("this endpoint needs the runner's client certificate")
	}
	leaf, trusted, on := r.TLS.PeerCertificates[0], s.Authorities.all.Load(), connectionOf(r)
	if on != nil {
		if p := on.proof.Load(); p != nil && p.leaf == leaf && p.by == trusted {
			return p.caller, nil
		}
	}
	caller, err := s.Authorities.CallerOf(leaf)
	if on != nil && err == nil {
		on.proof.Store(&proof{leaf: leaf, by: trusted, caller: caller})
	}
	return caller, err
}
