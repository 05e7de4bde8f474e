package ec2sim

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// Region signs identity documents as a region does, with a key and a
// certificate of its own. Each simulator of a region may share one: to make a
// key takes longer than all the rest.
type Region struct {
	key         *rsa.PrivateKey
	certificate *x509.Certificate
}

// NewRegion makes a key of 2048 bits and its certificate, valid around now.
func NewRegion(now time.Time) (*Region, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the key of a simulated region: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{Country: []string{"US"}, Organization: []string{"simulated region"}},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.Add(365 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of a simulated region: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of a simulated region: %w", err)
	}
	return &Region{key, certificate}, nil
}

// Certificate is what a verifier of documents trusts, in PEM.
func (r *Region) Certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.certificate.Raw}))
}

// Identity is what the metadata service shows of an instance, each as it is
// served under /latest/dynamic/instance-identity/.
type Identity struct {
	// Document is the JSON text that is signed, byte for byte.
	Document string
	// RSA2048 is a PKCS #7 signature with the document in it, in base64 with
	// lines of 64 characters and without the lines that PEM puts around.
	RSA2048 string
}

// IdentityOf signs the document of an instance of the account.
func (s *Simulator) IdentityOf(region *Region, id string) (Identity, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	one, err := s.alive(id)
	if err != nil {
		return Identity{}, err
	}
	return region.Sign(s.identityDocument(one), s.now())
}

func (s *Simulator) identityDocument(one *instance) string {
	text, err := json.MarshalIndent(map[string]any{
		"accountId": s.options.Account, "architecture": one.image.Architecture, "availabilityZone": one.subnet.Zone.Name,
		"billingProducts": nil, "devpayProductCodes": nil, "marketplaceProductCodes": nil, "imageId": one.image.ID,
		"instanceId": one.ID, "instanceType": one.kind.Name, "kernelId": nil, "ramdiskId": nil,
		"pendingTime": one.launched.UTC().Format(time.RFC3339), "privateIp": one.address, "region": s.options.Region,
		"version": "2017-09-30",
	}, "", "  ")
	if err != nil {
		panic("ec2sim: an identity document can't be written: " + err.Error())
	}
	return string(text)
}

// Sign signs any text as a document: also one that no region would write, for
// tests of what must be refused.
func (r *Region) Sign(document string, now time.Time) (Identity, error) {
	signed, err := r.signedData([]byte(document), now)
	if err != nil {
		return Identity{}, fmt.Errorf("sign an identity document: %w", err)
	}
	encoded := base64.StdEncoding.EncodeToString(signed)
	var lines []byte
	for ; len(encoded) > 64; encoded = encoded[64:] {
		lines = append(append(lines, encoded[:64]...), '\n')
	}
	return Identity{Document: document, RSA2048: string(append(lines, encoded...))}, nil
}

var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidRSA           = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
)

// The types below are those of RFC 2315, in the order that it writes them.

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content any `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version int
	Digests []pkix.AlgorithmIdentifier `asn1:"set"`
	Content contentInfo
	Signers []signerInfo `asn1:"set"`
}

type signerInfo struct {
	Version    int
	Signer     issuerAndSerial
	Digest     pkix.AlgorithmIdentifier
	Attributes []attribute `asn1:"set,tag:0"`
	Encryption pkix.AlgorithmIdentifier
	Signature  []byte
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values []any `asn1:"set"`
}

// signedData writes the signature with the document in it and without the
// certificate, which the verifier must have already.
func (r *Region) signedData(document []byte, now time.Time) ([]byte, error) {
	digest := sha256.Sum256(document)
	attributes := []attribute{
		{oidContentType, []any{oidData}},
		{oidSigningTime, []any{now.UTC().Truncate(time.Second)}},
		{oidMessageDigest, []any{digest[:]}},
	}
	// The attributes are signed as a set, whatever tag they have in the message.
	signedText, err := asn1.MarshalWithParams(attributes, "set")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(signedText)
	signature, err := rsa.SignPKCS1v15(rand.Reader, r.key, crypto.SHA256, sum[:])
	if err != nil {
		return nil, err
	}
	sha := pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}
	return asn1.Marshal(contentInfo{oidSignedData, signedData{
		Version: 1,
		Digests: []pkix.AlgorithmIdentifier{sha},
		Content: contentInfo{oidData, document},
		Signers: []signerInfo{{
			Version:    1,
			Signer:     issuerAndSerial{asn1.RawValue{FullBytes: r.certificate.RawIssuer}, r.certificate.SerialNumber},
			Digest:     sha,
			Attributes: attributes,
			Encryption: pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: asn1.NullRawValue},
			Signature:  signature,
		}},
	}})
}
