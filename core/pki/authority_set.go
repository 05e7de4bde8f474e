package pki

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"
	"time"
)

// AuthoritySet is the installation's certificate authorities: the one that signs,
// and older ones until nothing depends on them any more.
//
// Each has a server name of its own. An agent asks for the manager by the name of
// the authority that it pins and is shown a certificate of that one, so that
// neither has to vouch for the other: an older authority's key is worth nothing to
// an agent that trusts a newer one.
type AuthoritySet struct {
	current atomic.Pointer[TrustedAuthorities]
}

// TrustedAuthorities is the content of an AuthoritySet between two calls of Use. It
// is immutable: who holds the pointer to the current one knows that what it verified
// is still trusted.
type TrustedAuthorities struct {
	all []*Authority // the signing one first
}

// NewAuthoritySet makes one authority sign and others be trusted.
func NewAuthoritySet(signing *Authority, older ...*Authority) *AuthoritySet {
	s := &AuthoritySet{}
	s.Use(signing, older...)
	return s
}

// Use makes another authority sign from now on. Open connections of agents that pin
// one that is no longer trusted last until they end.
func (s *AuthoritySet) Use(signing *Authority, older ...*Authority) {
	s.current.Store(&TrustedAuthorities{append([]*Authority{signing}, older...)})
}

// Current is what is trusted now.
func (s *AuthoritySet) Current() *TrustedAuthorities { return s.current.Load() }

// Signing is the authority that signs, which new hosts pin.
func (s *AuthoritySet) Signing() *Authority { return s.Current().all[0] }

// VerifyClient reads a client certificate that one of them signed, like
// Authority.VerifyClient. The error is the signing authority's.
func (t *TrustedAuthorities) VerifyClient(leaf *x509.Certificate) (client ClientIdentity, err error) {
	var first error
	for _, one := range t.all {
		if client, err = one.VerifyClient(leaf); err == nil {
			return client, nil
		}
		if first == nil {
			first = err
		}
	}
	return ClientIdentity{}, first
}

// ServerCertificate is the one that a client asks for by name; for other names,
// and for none, that of the authority that signs.
func (s *AuthoritySet) ServerCertificate(name string, now time.Time) (*tls.Certificate, error) {
	if one, found := s.ByServerName(name); found {
		return one.ServerCertificate(now)
	}
	return s.Signing().ServerCertificate(now)
}

// ByServerName finds the trusted authority whose agents ask for the server name.
func (s *AuthoritySet) ByServerName(name string) (*Authority, bool) {
	for _, one := range s.Current().all {
		if one.name == name {
			return one, true
		}
	}
	return nil, false
}
