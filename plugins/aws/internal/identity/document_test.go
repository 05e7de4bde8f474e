package identity

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

const text = `{
  "accountId" : "111122223333", "region" : "us-east-1", "instanceId" : "i-0123456789abcdef0",
  "imageId" : "ami-0a000000000000001", "instanceType" : "c7i.large", "pendingTime" : "2026-11-30T06:00:00Z", "kernelId" : null
}`

var moment = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)

// regions are two, since to make their keys takes longer than all the rest.
var regions = sync.OnceValue(func() [2]*ec2sim.Region {
	var made [2]*ec2sim.Region
	for n := range made {
		region, err := ec2sim.NewRegion(moment)
		if err != nil {
			panic(err)
		}
		made[n] = region
	}
	return made
})

// signed is evidence of any text, signed by a region.
func signed(t *testing.T, region *ec2sim.Region, document string) provider.Evidence {
	t.Helper()
	identity, err := region.Sign(document, moment)
	if err != nil {
		t.Fatal(err)
	}
	return provider.Evidence{Kind: Kind, Document: []byte(identity.Document), Signature: []byte(identity.RSA2048)}
}

// verdict is what verification says by the first region's certificate.
func verdict(t *testing.T, evidence provider.Evidence) (Document, error) {
	t.Helper()
	certificate, err := Certificate(regions()[0].Certificate())
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(evidence)
	if err != nil {
		return Document{}, err
	}
	return read.Verify(certificate)
}

func TestADocumentSaysOfItsInstanceWhatTheRegionSigned(t *testing.T) {
	want := Document{"111122223333", "us-east-1", "i-0123456789abcdef0", "ami-0a000000000000001", "c7i.large", moment}
	for _, ends := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return s + "\n" },
		func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	} {
		evidence := signed(t, regions()[0], text)
		evidence.Document = []byte(ends(text))
		if got, err := verdict(t, evidence); err != nil || got != want {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestWhatTheRegionDidNotSignIsRefused(t *testing.T) {
	genuine := func() provider.Evidence { return signed(t, regions()[0], text) }
	other := strings.ReplaceAll(text, "i-0123456789abcdef0", "i-0fedcba9876543210")
	for name, forge := range map[string]func(*provider.Evidence){
		"another document beside the signature": func(e *provider.Evidence) { e.Document = []byte(other) },
		"a document signed by another key":      func(e *provider.Evidence) { *e = signed(t, regions()[1], text) },
		"the signature of another document": func(e *provider.Evidence) {
			e.Signature = signed(t, regions()[0], other).Signature
		},
		"a signed text that isn't a document": func(e *provider.Evidence) {
			*e = signed(t, regions()[0], "an instance of ours")
		},
		"a signed document that names no machine": func(e *provider.Evidence) { *e = signed(t, regions()[0], "{}") },
		"another kind":                      func(e *provider.Evidence) { e.Kind = "gcp" },
		"no signature":                      func(e *provider.Evidence) { e.Signature = nil },
		"no document":                       func(e *provider.Evidence) { e.Document = nil },
		"a signature that is a certificate": func(e *provider.Evidence) { e.Signature = []byte(certificateDER(t)) },
		"space inside the document": func(e *provider.Evidence) {
			e.Document = []byte(strings.Replace(text, " : ", ":  ", 1))
		},
	} {
		evidence := genuine()
		forge(&evidence)
		if got, err := verdict(t, evidence); err == nil {
			t.Errorf("%s: taken for %+v", name, got)
		}
	}
}

// The document's own text isn't better evidence than any other: a change of one bit
// anywhere, of the message too, never gives another identity.
func TestAChangedBitNeverGivesAnotherIdentity(t *testing.T) {
	evidence := signed(t, regions()[0], text)
	want, err := verdict(t, evidence)
	if err != nil {
		t.Fatal(err)
	}
	message, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(evidence.Signature), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	random := mathrand.New(mathrand.NewPCG(1, 2))
	for at := range message {
		changed := append([]byte(nil), message...)
		changed[at] ^= 1 << random.IntN(8)
		forged := evidence
		forged.Signature = []byte(base64.StdEncoding.EncodeToString(changed))
		if got, err := verdict(t, forged); err == nil && got != want {
			t.Fatalf("byte %d: %+v", at, got)
		}
		forged.Signature = []byte(base64.StdEncoding.EncodeToString(message[:at])) // a cut message is read without a panic
		if got, err := verdict(t, forged); err == nil && got != want {
			t.Fatalf("cut at %d: %+v", at, got)
		}
	}
}

// A certificate within the message is the sender's own.
func TestTheCertificateThatAMessageBringsAlongCountsForNothing(t *testing.T) {
	read, err := Read(signed(t, regions()[1], text))
	if err != nil {
		t.Fatal(err)
	}
	own, err := Certificate(regions()[1].Certificate())
	if err != nil {
		t.Fatal(err)
	}
	region, err := Certificate(regions()[0].Certificate())
	if err != nil {
		t.Fatal(err)
	}
	read.message.Certificates = append(read.message.Certificates, own)
	if err := read.message.Verify(); err != nil {
		t.Fatalf("the message verifies by its own certificate, else this shows nothing: %v", err)
	}
	if got, err := read.Verify(region); err == nil {
		t.Fatalf("taken for %+v", got)
	}
}

func TestACertificateIsReadOrSaysWhatIsWrongWithIt(t *testing.T) {
	good := regions()[0].Certificate()
	for name, c := range map[string]struct{ text, says string }{
		"it is good":                    {good, ""},
		"it has space around":           {"\n  \n" + good + "\n\n", ""},
		"it is empty":                   {"", "BEGIN CERTIFICATE"},
		"it is a key":                   {strings.ReplaceAll(good, "CERTIFICATE", "PUBLIC KEY"), "BEGIN CERTIFICATE"},
		"there are two":                 {good + regions()[1].Certificate(), "a region has one"},
		"it is for a shorter signature": {shorter(t), "another of the signatures"},
	} {
		_, err := Certificate(c.text)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// shorter is a certificate with a key of 1024 bits, as the vendor's page has them
// for another of the signatures.
func shorter(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: moment.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// The parser goes into what is nested by calling itself.
func TestADeeplyNestedMessageIsRefusedAndNotTheEndOfThePlugin(t *testing.T) {
	for _, layer := range []string{"\x30\x80", "\x30\x82\x2f\x00", "\x24\x80"} {
		message := strings.Repeat(layer, (12<<10)/len(layer)) // what 16 KiB of base64 hold
		for _, sent := range []string{message, message + "\x00\x00", message + strings.Repeat("\x00", 64)} {
			if _, err := Read(
				provider.Evidence{Kind: Kind, Document: []byte(text),
					Signature: []byte(base64.StdEncoding.EncodeToString([]byte(sent)))}); err == nil {
				t.Errorf("%x… is taken for a signature", layer)
			}
		}
	}
}

func certificateDER(t *testing.T) string {
	t.Helper()
	certificate, err := Certificate(regions()[0].Certificate())
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(certificate.Raw)
}

// FuzzRead: whatever anybody sends is verdict, and never a panic.
func FuzzRead(f *testing.F) {
	identity, err := regions()[0].Sign(text, moment)
	if err != nil {
		f.Fatal(err)
	}
	message, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(identity.RSA2048, "\n", ""))
	if err != nil {
		f.Fatal(err)
	}
	certificate, err := Certificate(regions()[0].Certificate())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(text), message)
	f.Add([]byte("{}"), []byte{0x30, 0x80, 0, 0})
	f.Fuzz(func(t *testing.T, document, message []byte) {
		read, err := Read(
			provider.Evidence{Kind: Kind, Document: document, Signature: []byte(base64.StdEncoding.EncodeToString(message))})
		if err != nil {
			return
		}
		if got, err := read.Verify(certificate); err == nil {
			var want Document
			if err := json.Unmarshal([]byte(text), &want); err != nil || got != want {
				t.Fatalf("the region never signed %+v", got)
			}
		}
	})
}
