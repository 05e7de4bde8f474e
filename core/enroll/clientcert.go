package enroll

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// ClientCertificate is a certificate that was just signed.
type ClientCertificate struct {
	PEM      string
	Serial   string
	NotAfter time.Time
	// Issuer is the id of the authority's key.
	Issuer string
}

// SignRunner makes a client certificate for the key that says who the runner is
// and nothing else: it is good for no server and no other installation.
func (a *Authority) SignRunner(id fleet.RunnerID, key any, now time.Time, life time.Duration) (ClientCertificate, error) {
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
	return ClientCertificate{PEM: a.chainPEM(der), Serial: template.SerialNumber.Text(16), NotAfter: template.NotAfter, Issuer: a.KeyID()}, nil
}

// Caller is who a client certificate proves the caller to be.
type Caller struct {
	Runner   fleet.RunnerID
	KeyHash  string
	NotAfter time.Time
	// Issuer is the id of the authority's key that signed the certificate.
	Issuer string
}

// CallerOf reads a client certificate that this authority signed. Its time is
// not judged here: handlers do that by the manager's clock, since an expired
// certificate may still renew.
func (a *Authority) CallerOf(leaf *x509.Certificate) (Caller, error) {
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:       a.pool,
		CurrentTime: leaf.NotBefore,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Caller{}, fmt.Errorf("the client certificate is not of this installation: %w", err)
	}
	if len(leaf.URIs) != 1 || leaf.URIs[0].Scheme != "spiffe" || leaf.URIs[0].Host != a.installation {
		return Caller{}, errors.New("the client certificate names no runner of this installation")
	}
	id, isRunner := strings.CutPrefix(leaf.URIs[0].Path, "/runner/")
	if !isRunner || !fleet.ValidULID(id) {
		return Caller{}, errors.New("the client certificate names no runner")
	}
	return Caller{Runner: fleet.RunnerID(id), KeyHash: keyHash(leaf.RawSubjectPublicKeyInfo), NotAfter: leaf.NotAfter, Issuer: a.KeyID()}, nil
}

// request is a certificate request whose signature proves that the agent holds
// the key.
type request struct {
	key     any
	keyHash string
}

// errRequest is the base of every complaint about a certificate request; the
// texts hold nothing of the request itself.
var errRequest = errors.New("the certificate request can't be used")

// parseRequest reads a PEM certificate request. Its subject and extensions are
// ignored: the manager alone says what a certificate is for.
func parseRequest(text string) (request, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE REQUEST" || strings.TrimSpace(string(rest)) != "" {
		return request{}, fmt.Errorf("%w: it is not one PEM CERTIFICATE REQUEST", errRequest)
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return request{}, fmt.Errorf("%w: it doesn't parse", errRequest)
	}
	switch key := csr.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return request{}, fmt.Errorf("%w: its key is on %s; use ECDSA P-256 or Ed25519", errRequest, key.Curve.Params().Name)
		}
	case ed25519.PublicKey:
	default:
		return request{}, fmt.Errorf("%w: its key is %s; use ECDSA P-256 or Ed25519", errRequest, csr.PublicKeyAlgorithm)
	}
	if err := csr.CheckSignature(); err != nil {
		return request{}, fmt.Errorf("%w: its signature is wrong", errRequest)
	}
	return request{key: csr.PublicKey, keyHash: keyHash(csr.RawSubjectPublicKeyInfo)}, nil
}

func keyHash(subjectPublicKeyInfo []byte) string { return fleet.DigestBytes(subjectPublicKeyInfo) }
