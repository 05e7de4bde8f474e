package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Authority is the installation's certificate authority. Agents pin it by its
// fingerprint; nothing else in the world trusts it.
type Authority struct {
	installation string
	// name is what servers with its certificates are called.
	name        string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pool        *x509.CertPool

	mu sync.Mutex
	// server is made when it is first needed and again before it runs out. It
	// is never written down: agents pin the authority, and a key that is not on
	// the disk can't be read from it.
	server         *tls.Certificate
	serverNotAfter time.Time
}

// AuthorityFile is the file of an installation's first authority.
const AuthorityFile = "authority.pem"

const (
	authorityLife  = 20 * 365 * 24 * time.Hour
	serverLife     = 90 * 24 * time.Hour
	serverRemake   = 30 * 24 * time.Hour
	serverBackdate = 48 * time.Hour
	// authorityBackdate is before any certificate that the authority signs, so
	// that a chain can be verified at the moment its leaf begins.
	authorityBackdate = 72 * time.Hour
	clientBackdate    = 10 * time.Minute
)

// ServerName is the name of every manager of the installation, under its first
// authority. Agents ask for it whatever address they call.
func ServerName(installation string) string {
	return "manager." + installation + ".forgeyard-fleet.internal"
}

// LoadAuthority reads the installation's first authority in the folder, and makes
// it if there is none.
func LoadAuthority(folder, installation string, now time.Time) (*Authority, error) {
	return LoadAuthorityFile(filepath.Join(folder, AuthorityFile), installation, now)
}

// LoadAuthorityFile reads an authority's key and certificate, and makes them if
// there are none. Both are in one file, so that they can never be of two different
// authorities.
func LoadAuthorityFile(path, installation string, now time.Time) (*Authority, error) {
	blocks, err := readOrCreateKeyFile(path, []string{"PRIVATE KEY", "CERTIFICATE"}, func() ([]*pem.Block, error) {
		return newAuthority(installation, now)
	})
	if err != nil {
		return nil, err
	}
	damaged := &KeyFileError{
		path,
		"is truncated or damaged; restore it from a backup, since every agent pins this authority",
	}
	parsed, err := x509.ParsePKCS8PrivateKey(blocks[0].Bytes)
	if err != nil {
		return nil, damaged
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	certificate, err := x509.ParseCertificate(blocks[1].Bytes)
	if err != nil || !isECDSA || !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, damaged
	}
	if certificate.Subject.CommonName != authorityName(installation) {
		return nil, &KeyFileError{
			path,
			fmt.Sprintf(
				"belongs to %q and not to installation %q; every installation needs a state folder of its own",
				certificate.Subject.CommonName,
				installation,
			),
		}
	}
	if now.After(certificate.NotAfter) {
		return nil, &KeyFileError{
			path,
			fmt.Sprintf("expired on %s; check this machine's clock", certificate.NotAfter.Format(time.RFC3339)),
		}
	}
	a := &Authority{
		installation: installation,
		name:         ServerName(installation),
		key:          key,
		certificate:  certificate,
		pool:         x509.NewCertPool(),
	}
	a.pool.AddCert(certificate)
	if filepath.Base(path) != AuthorityFile {
		// An agent asks for the manager by a name of the authority that it pins, so
		// that each is shown a certificate that it can verify.
		a.name = a.KeyID() + "." + a.name
	}
	return a, nil
}

func authorityName(installation string) string { return "forgeyard-fleet " + installation }

func newAuthority(installation string, now time.Time) ([]*pem.Block, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: authorityName(installation)},
		NotBefore:             now.Add(-authorityBackdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return []*pem.Block{{Type: "PRIVATE KEY", Bytes: encoded}, {Type: "CERTIFICATE", Bytes: der}}, nil
}

// Fingerprint is what bootstraps carry: "sha256:" and the hex digest of the
// authority's certificate.
func (a *Authority) Fingerprint() string { return fleet.DigestBytes(a.certificate.Raw) }

// ServerName is what agents that pin this authority call the manager.
func (a *Authority) ServerName() string { return a.name }

// KeyID names the authority's key, for the store to remember.
func (a *Authority) KeyID() string {
	sum := sha256.Sum256(a.certificate.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:8])
}

// ServerCertificate is the manager's certificate with the authority in its
// chain. It is valid from 48 hours before its making, since hosts boot with
// clocks that are behind.
func (a *Authority) ServerCertificate(now time.Time) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.server != nil && now.Before(a.serverNotAfter.Add(-serverRemake)) &&
		now.After(a.serverNotAfter.Add(-serverLife-serverBackdate)) {
		return a.server, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the manager's key: %w", err)
	}
	name := a.name
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "forgeyard-fleet manager"},
		DNSNames:    []string{name},
		NotBefore:   now.Add(-serverBackdate),
		NotAfter:    now.Add(serverLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := a.sign(template, &key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("sign the manager's certificate for %s: %w", name, err)
	}
	a.server = &tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key}
	a.serverNotAfter = template.NotAfter
	return a.server, nil
}

// sign gives the template a serial and the authority's signature.
func (a *Authority) sign(template *x509.Certificate, key any) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.BasicConstraintsValid = true
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	return x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
}

func newSerial() (*big.Int, error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b), nil
}

// chainPEM is the leaf and the authority, as an agent stores them.
func (a *Authority) chainPEM(leaf []byte) string {
	var out bytes.Buffer
	for _, der := range [][]byte{leaf, a.certificate.Raw} {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	return out.String()
}
