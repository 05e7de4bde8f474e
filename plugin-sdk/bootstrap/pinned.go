package bootstrap

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// TLSConfig trusts one server: it must present a chain that ends in the CA with
// the document's fingerprint and be called ServerName, whatever the URL says.
// No system root is trusted.
//
// With checkTime false the certificates' validity is not compared with this
// host's clock, which may never have been set when the host enrolls. With true
// it is, by the configuration's Time where that is set.
func TLSConfig(document Document, checkTime bool) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS13,
		ServerName: document.ServerName,
		// The usual verification looks for a system root and reads the clock.
		// VerifyConnection below replaces it and runs on every connection,
		// resumed ones too.
		InsecureSkipVerify: true,
	}
	config.VerifyConnection = func(state tls.ConnectionState) error {
		now := latestStart(state.PeerCertificates)
		if checkTime {
			now = time.Now()
			if config.Time != nil {
				now = config.Time()
			}
		}
		if err := verifyPinned(state.PeerCertificates, document, now); err != nil {
			return fmt.Errorf("the server at %s is not the manager that the bootstrap document names: %w", document.ManagerURL,
				err)
		}
		return nil
	}
	return config
}

// verifyPinned trusts the chain if it leads to the CA of the document, wherever
// in it that one stands: what was sent besides proves nothing and harms nothing.
func verifyPinned(chain []*x509.Certificate, document Document, now time.Time) error {
	if len(chain) == 0 {
		return errors.New("it sent no certificate")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	found := false
	for _, certificate := range chain {
		if certificate.IsCA && Fingerprint(certificate) == document.CAFingerprint {
			roots.AddCert(certificate)
			found = true
			continue
		}
		intermediates.AddCert(certificate)
	}
	if !found {
		return fmt.Errorf("its chain has no CA with the fingerprint %s", document.CAFingerprint)
	}
	options := x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		DNSName:       document.ServerName,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		CurrentTime:   now,
	}
	_, err := chain[0].Verify(options)
	return err
}

// latestStart is a moment at which the whole chain had begun to be valid. The
// leaf's own start may be before its CA's, since both are dated back.
func latestStart(chain []*x509.Certificate) time.Time {
	var latest time.Time
	for _, certificate := range chain {
		if certificate.NotBefore.After(latest) {
			latest = certificate.NotBefore
		}
	}
	return latest
}

// Fingerprint is how Document names a CA: "sha256:" and the hex digest of its DER.
func Fingerprint(certificate *x509.Certificate) string {
	digest := sha256.Sum256(certificate.Raw)
	return "sha256:" + hex.EncodeToString(digest[:])
}
