package metadatafake

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// Signer is an infrastructure that signs what its metadata service says of an instance,
// by RSA-2048 and SHA-256 as clouds do.
type Signer struct {
	// Certificate is what the signatures are verified by.
	Certificate *x509.Certificate

	t   testing.TB
	key *rsa.PrivateKey
}

// NewSigner makes a signer with a key of its own.
func NewSigner(t testing.TB) *Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "a region"},
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Signer{Certificate: certificate, t: t, key: key}
}

// Sign signs every byte of a document.
func (s *Signer) Sign(document []byte) []byte {
	s.t.Helper()
	sum := sha256.Sum256(document)
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return signature
}

// Identity are values for Start: an identity document of AWS and its signature.
func Identity(document, signature []byte) map[string]string {
	const folder = "/latest/dynamic/instance-identity/"
	return map[string]string{folder + "document": string(document), folder + "rsa2048": string(signature)}
}
