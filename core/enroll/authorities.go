package enroll

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// Authorities are the installation's certificate authorities: the one that signs,
// and older ones until nothing depends on them any more.
//
// Each has a server name of its own. An agent asks for the manager by the name of
// the authority that it pins and is shown a certificate of that one, so that
// neither has to vouch for the other: an older authority's key is worth nothing to
// an agent that trusts a newer one.
type Authorities struct {
	all atomic.Pointer[[]*Authority] // the signing one first
}

// NewAuthorities makes one sign and others be trusted.
func NewAuthorities(signing *Authority, older ...*Authority) *Authorities {
	a := &Authorities{}
	a.Use(signing, older...)
	return a
}

// Use makes another authority sign from now on. Connections of agents that pin
// one that is no longer trusted go on until they end.
func (a *Authorities) Use(signing *Authority, older ...*Authority) {
	all := append([]*Authority{signing}, older...)
	a.all.Store(&all)
}

// Signing is the authority that signs, which new hosts pin.
func (a *Authorities) Signing() *Authority { return (*a.all.Load())[0] }

// CallerOf reads a client certificate that one of them signed, as the one
// authority's CallerOf.
func (a *Authorities) CallerOf(leaf *x509.Certificate) (caller Caller, err error) {
	var first error
	for _, one := range *a.all.Load() {
		if caller, err = one.CallerOf(leaf); err == nil {
			return caller, nil
		}
		if first == nil {
			first = err
		}
	}
	return Caller{}, first
}

// ServerCertificate is the one that a client asks for by name; for other names,
// and for none, that of the authority that signs.
func (a *Authorities) ServerCertificate(name string, now time.Time) (*tls.Certificate, error) {
	if one := a.named(name); one != nil {
		return one.ServerCertificate(now)
	}
	return a.Signing().ServerCertificate(now)
}

// named finds the authority of a server name; nil: none.
func (a *Authorities) named(name string) *Authority {
	for _, one := range *a.all.Load() {
		if one.name == name {
			return one
		}
	}
	return nil
}

// pinned is the id of the authority's key that the caller trusts, as the name
// shows that it asked for; "": it asked for none of ours.
func (s *Server) pinned(r *http.Request) string {
	if r.TLS != nil {
		if one := s.Authorities.named(r.TLS.ServerName); one != nil {
			return one.KeyID()
		}
	}
	return ""
}

// newerTrust is what a caller that pins an older authority should pin from now
// on; nil: it does.
func (s *Server) newerTrust(r *http.Request) *agentapi.Trust {
	signing := s.Authorities.Signing()
	if s.pinned(r) == signing.KeyID() {
		return nil
	}
	return &agentapi.Trust{CAFingerprint: signing.Fingerprint(), ServerName: signing.ServerName()}
}
