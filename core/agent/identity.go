package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// identity is the agent's key, made on this host and never sent anywhere, and
// the certificate that it got for it. Both outlive the process, so that a
// restarted agent is the same runner.
type identity struct {
	keyPath, recordPath string
	key                 *ecdsa.PrivateKey
	record              identityRecord
}

// identityRecord is runner.json.
type identityRecord struct {
	RunnerID          string   `json:"runner_id"`
	Certificate       string   `json:"certificate"` // PEM, with its chain
	TokenSHA256       string   `json:"token_sha256"`
	ProbeCapabilities []string `json:"probe_capabilities,omitempty"`
	// Enrolled is when the manager took this agent, by the host's clock, which it
	// had just found right. max_age counts from here.
	Enrolled time.Time `json:"enrolled,omitzero"`
	// Trust is how the manager is known; zero: as the bootstrap document says.
	// Before is how it was known before, until a call under Trust succeeded; nil:
	// it did.
	Trust  agentapi.Trust  `json:"trust,omitzero"`
	Before *agentapi.Trust `json:"trust_before,omitempty"`
}

// openIdentity reads the state folder or makes a new key there. An identity
// that was made with another token belongs to another enrollment (a cloned
// disk, a host that is used again) and is dropped.
func openIdentity(folder, token string) (*identity, error) {
	i := &identity{keyPath: filepath.Join(folder, "runner.key"), recordPath: filepath.Join(folder, "runner.json")}
	sum := sha256.Sum256([]byte(token))
	tokenSHA256 := hex.EncodeToString(sum[:])

	content, err := os.ReadFile(i.recordPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the agent's identity: %w", err)
	case json.Unmarshal(content, &i.record) != nil:
		i.record = identityRecord{} // the key gets the same identity again
	case i.record.TokenSHA256 != tokenSHA256:
		i.record = identityRecord{}
		for _, path := range []string{i.recordPath, i.keyPath} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("remove the identity of another enrollment: %w", err)
			}
		}
	}
	i.record.TokenSHA256 = tokenSHA256
	if i.key, err = readKey(i.keyPath); err == nil {
		return i, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	i.record = identityRecord{TokenSHA256: tokenSHA256} // a certificate without its key is worth nothing
	if i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		return nil, fmt.Errorf("write the agent's key: %w", err)
	}
	// On the disk before it is used: a lost answer must find the same key again.
	return i, writeStateFile(i.keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the agent's key: %w", err)
	}
	damaged := fmt.Errorf("the agent's key %s is damaged; this host must be replaced", path)
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, damaged
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, damaged
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		return nil, damaged
	}
	return key, nil
}

func (i *identity) enrolled() bool { return i.record.RunnerID != "" }

// request is a PEM certificate request, signed by the key to prove it is here.
// It claims nothing: the manager says what the certificate is for.
func (i *identity) request() (string, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, i.key)
	if err != nil {
		return "", fmt.Errorf("make a certificate request: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), nil
}

// age is how long ago the agent enrolled. A clock that was set back since makes
// it younger, never older.
func (i *identity) age(now time.Time) time.Duration {
	if i.record.Enrolled.IsZero() {
		return 0
	}
	return max(0, now.Sub(i.record.Enrolled))
}

// keepEnrollment makes the manager's answer the agent's identity.
func (i *identity) keepEnrollment(answer agentapi.EnrollResponse, now time.Time) error {
	i.record.Enrolled = now.UTC()
	i.record.RunnerID, i.record.ProbeCapabilities = answer.RunnerID, answer.ProbeCapabilities
	return i.keepCertificate(answer.Certificate)
}

// keepCertificate stores a renewed certificate.
func (i *identity) keepCertificate(c agentapi.Certificate) error {
	if _, err := tls.X509KeyPair([]byte(c.PEM), i.keyPEM()); err != nil {
		return fmt.Errorf("the manager's answer has no certificate for this agent's key: %w", err)
	}
	i.record.Certificate = c.PEM
	return writeStateJSON(i.recordPath, i.record)
}

func (i *identity) certificate() (*tls.Certificate, error) {
	c, err := tls.X509KeyPair([]byte(i.record.Certificate), i.keyPEM())
	if err != nil {
		return nil, fmt.Errorf("use the certificate in %s: %w", i.recordPath, err)
	}
	return &c, nil
}

func (i *identity) keyPEM() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		return nil // the key was read from this very form
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
