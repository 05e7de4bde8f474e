package agent

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"
)

// pin trusts one authority, known by the digest of its certificate, for one name.
type pin struct {
	fingerprint string
	serverName  string
	now         func() time.Time
	// judgeTime is off while enrolling: a host may boot with any clock, and the
	// manager tells it so better than a failed handshake.
	judgeTime atomic.Bool
}

// UntrustedManagerError says that whoever answers isn't the manager that the
// bootstrap document names. Nothing was sent to it.
type UntrustedManagerError struct {
	Reason string
}

func (e *UntrustedManagerError) Error() string {
	return "what answers at the manager's address is not the manager of the bootstrap document: " + e.Reason
}

func newPin(c Config) *pin {
	return &pin{fingerprint: c.CAFingerprint, serverName: c.ServerName, now: c.Now}
}

func (p *pin) verify(state tls.ConnectionState) error {
	chain := state.PeerCertificates
	if len(chain) == 0 {
		return &UntrustedManagerError{"it showed no certificate"}
	}
	last := chain[len(chain)-1]
	sum := sha256.Sum256(last.Raw)
	if have := "sha256:" + hex.EncodeToString(sum[:]); have != p.fingerprint || !last.IsCA {
		return &UntrustedManagerError{fmt.Sprintf("its authority is %s and should be %s", have, p.fingerprint)}
	}
	options := x509.VerifyOptions{
		DNSName:       p.serverName,
		Roots:         x509.NewCertPool(),
		Intermediates: x509.NewCertPool(),
		CurrentTime:   chain[0].NotBefore,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if p.judgeTime.Load() {
		options.CurrentTime = p.now()
	}
	options.Roots.AddCert(last)
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := chain[0].Verify(options); err != nil {
		return &UntrustedManagerError{err.Error()}
	}
	return nil
}
