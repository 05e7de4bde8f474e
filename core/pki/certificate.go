package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// ClientCertificate is a newly signed client certificate.
type ClientCertificate struct {
	PEM      string
	Serial   string
	NotAfter time.Time
	// Issuer is the id of the authority's key.
	Issuer string
}

// SignRunner makes a client certificate for the key that names the runner and
// nothing else: neither servers nor other installations accept it.
func (a *Authority) SignRunner(
	id fleet.RunnerID,
	key any,
	now time.Time,
	life time.Duration,
) (ClientCertificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: string(id)},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: a.installation, Path: "/runner/" + string(id)}},
		NotBefore:   now.Add(-clientBackdate),
		NotAfter:    now.Add(life).Truncate(time.Second),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := a.sign(template, key)
	if err != nil {
		return ClientCertificate{}, fmt.Errorf("sign the certificate of runner %s: %w", id, err)
	}
	return ClientCertificate{
		PEM:      a.chainPEM(der),
		Serial:   template.SerialNumber.Text(16),
		NotAfter: template.NotAfter,
		Issuer:   a.KeyID(),
	}, nil
}

// ClientIdentity is who a client certificate proves the caller to be.
type ClientIdentity struct {
	Runner   fleet.RunnerID
	KeyHash  string
	NotAfter time.Time
	// Issuer is the id of the authority's key that signed the certificate.
	Issuer string
}

// VerifyClient reads a client certificate that this authority signed. It does not
// check the expiry: handlers compare NotAfter with the manager's clock, since an
// expired certificate may still renew.
func (a *Authority) VerifyClient(leaf *x509.Certificate) (ClientIdentity, error) {
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:       a.pool,
		CurrentTime: leaf.NotBefore,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return ClientIdentity{}, fmt.Errorf("the client certificate was not issued by this installation: %w", err)
	}
	if len(leaf.URIs) != 1 || leaf.URIs[0].Scheme != "spiffe" || leaf.URIs[0].Host != a.installation {
		return ClientIdentity{}, errors.New("the client certificate does not name a runner of this installation")
	}
	id, isRunner := strings.CutPrefix(leaf.URIs[0].Path, "/runner/")
	if !isRunner || !fleet.ValidULID(id) {
		return ClientIdentity{}, errors.New("the client certificate does not name a runner")
	}
	return ClientIdentity{
		Runner:   fleet.RunnerID(id),
		KeyHash:  keyHash(leaf.RawSubjectPublicKeyInfo),
		NotAfter: leaf.NotAfter,
		Issuer:   a.KeyID(),
	}, nil
}
