package pki

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// CertificateRequest is a certificate request whose signature proves that the agent holds
// the key.
type CertificateRequest struct {
	Key     any // the public key: ECDSA P-256 or Ed25519
	KeyHash string
}

// errInvalidRequest is the base of every error about a certificate request. The
// texts repeat nothing of the request itself, since agents and logs get them.
var errInvalidRequest = errors.New("invalid certificate request")

// ParseCertificateRequest reads a PEM certificate request. Its subject and extensions are
// ignored: only the manager decides what a certificate is for.
func ParseCertificateRequest(text string) (CertificateRequest, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE REQUEST" || strings.TrimSpace(string(rest)) != "" {
		return CertificateRequest{}, fmt.Errorf("%w: expected one PEM block CERTIFICATE REQUEST", errInvalidRequest)
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return CertificateRequest{}, fmt.Errorf("%w: the block does not parse", errInvalidRequest)
	}
	switch key := csr.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return CertificateRequest{}, fmt.Errorf(
				"%w: the key is on curve %s; use ECDSA P-256 or Ed25519",
				errInvalidRequest,
				key.Curve.Params().Name,
			)
		}
	case ed25519.PublicKey:
	default:
		return CertificateRequest{}, fmt.Errorf(
			"%w: the key is %s; use ECDSA P-256 or Ed25519",
			errInvalidRequest,
			csr.PublicKeyAlgorithm,
		)
	}
	if err := csr.CheckSignature(); err != nil {
		return CertificateRequest{}, fmt.Errorf("%w: the signature does not match the key", errInvalidRequest)
	}
	return CertificateRequest{Key: csr.PublicKey, KeyHash: keyHash(csr.RawSubjectPublicKeyInfo)}, nil
}

func keyHash(subjectPublicKeyInfo []byte) string { return fleet.DigestBytes(subjectPublicKeyInfo) }
