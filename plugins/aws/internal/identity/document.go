// Package identity reads the instance identity documents of EC2: whether a region
// has signed one, and what it says. It doesn't use the SDK and makes no calls, so
// what it refuses is refused for certain.
package identity

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/smallstep/pkcs7"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Kind is whose form the evidence has.
const Kind = "aws"

// Document is what a region vouches for of one instance.
type Document struct {
	Account      string `json:"accountId"`
	Region       string `json:"region"`
	Instance     string `json:"instanceId"`
	Image        string `json:"imageId"`
	InstanceType string `json:"instanceType"`
	// Pending is when the instance was started the last time.
	Pending time.Time `json:"pendingTime"`
}

// smallestKey is that of the certificates for the signature "rsa2048".
const smallestKey = 2048

// Certificate reads a region's certificate from PEM text. The errors are for
// its author.
func Certificate(text string) (*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(text))
	switch {
	case block == nil || block.Type != "CERTIFICATE":
		return nil, errors.New("it has no block that begins with -----BEGIN CERTIFICATE-----")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("something follows the certificate: a region has one")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	if key, ok := certificate.PublicKey.(*rsa.PublicKey); !ok || key.N.BitLen() < smallestKey {
		return nil, fmt.Errorf("its key isn't RSA with %d bits: it is the certificate for another of the signatures",
			smallestKey)
	}
	return certificate, nil
}

// Signed is evidence that was taken apart, and not yet verified.
type Signed struct {
	document []byte
	message  *pkcs7.PKCS7
}

// Read takes evidence apart. An error is a certain refusal.
func Read(evidence provider.Evidence) (Signed, error) {
	unreadable := func(format string, arguments ...any) (Signed, error) {
		return Signed{}, provider.RefuseIdentity(provider.EvidenceUnreadable, format, arguments...)
	}
	if evidence.Kind != Kind {
		return unreadable("its kind is %q, and this provider knows %q", evidence.Kind, Kind)
	}
	if len(evidence.Document) == 0 || len(evidence.Signature) == 0 {
		return unreadable("it lacks the document or its signature")
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(evidence.Signature)), ""))
	if err != nil {
		return unreadable("its signature isn't base64")
	}
	message, err := pkcs7.Parse(der)
	if err != nil {
		return unreadable("its signature is no PKCS #7 message")
	}
	return Signed{evidence.Document, message}, nil
}

// Verify gives what the document says where the certificate's key has signed it. An
// error is a certain refusal.
func (s Signed) Verify(certificate *x509.Certificate) (Document, error) {
	message := *s.message
	// Whatever certificates the message brings along, anybody can have made.
	message.Certificates = []*x509.Certificate{certificate}
	if len(message.Content) == 0 {
		message.Content = s.document
	}
	if err := message.Verify(); err != nil {
		return Document{}, provider.RefuseIdentity(provider.BadSignature, "the region's certificate didn't sign it")
	}
	if !bytes.Equal(lines(message.Content), lines(s.document)) {
		return Document{}, provider.RefuseIdentity(provider.BadSignature, "the document isn't the one that was signed")
	}
	var document Document
	if err := json.Unmarshal(message.Content, &document); err != nil || document.Instance == "" {
		return Document{},
			provider.RefuseIdentity(provider.EvidenceUnreadable, "the signed content is not an instance identity document")
	}
	return document, nil
}

// lines forgets how lines end, which signing tools change.
func lines(text []byte) []byte {
	return bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}
