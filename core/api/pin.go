package api

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// UntrustedError says that the server isn't the manager that the endpoint
// names. Nothing was sent to it, least of all the token.
type UntrustedError struct{ Reason string }

func (e *UntrustedError) Error() string {
	return "the server's certificate doesn't match the manager's fingerprint: " + e.Reason
}

// pinned trusts one authority by the digest of its certificate, and for that
// nothing else in the world: neither the system's authorities nor the host's name
// in the URL. The authority is an installation's own and signs servers of one
// name only, the manager's; agents' certificates aren't for servers.
func pinned(fingerprint string, now func() time.Time) *tls.Config {
	verify := func(state tls.ConnectionState) error {
		chain := state.PeerCertificates
		if len(chain) == 0 {
			return &UntrustedError{"it showed no certificate"}
		}
		last := chain[len(chain)-1]
		if have := fleet.DigestBytes(last.Raw); have != fingerprint || !last.IsCA {
			return &UntrustedError{fmt.Sprintf("its authority is %s and should be %s", have, fingerprint)}
		}
		options := x509.VerifyOptions{
			Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: now(),
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		options.Roots.AddCert(last)
		for _, c := range chain[1:] {
			options.Intermediates.AddCert(c)
		}
		if _, err := chain[0].Verify(options); err != nil {
			return &UntrustedError{err.Error()}
		}
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // verify does it, with the one authority
		VerifyConnection:   verify,
	}
}

// checkFingerprint refuses what could never match.
func checkFingerprint(fingerprint string) error {
	if len(fingerprint) != len("sha256:")+64 || fingerprint[:7] != "sha256:" {
		return errors.New(`the authority's fingerprint isn't "sha256:" and 64 hex digits; copy it from the manager's log`)
	}
	return nil
}
