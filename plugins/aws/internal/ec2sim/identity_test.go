package ec2sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// verify asks openssl, which knows nothing of how the signature was written.
func verify(t *testing.T, identity Identity, certificate string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	signed := write("signed.pem", "-----BEGIN PKCS7-----\n"+identity.RSA2048+"\n-----END PKCS7-----\n")
	trusted := write("region.pem", certificate)
	command := exec.CommandContext(t.Context(), "openssl", "smime", "-verify", "-inform", "PEM", "-in", signed,
		"-certfile", trusted, "-noverify", "-nointern")
	text, err := command.Output()
	return string(text), err
}

func TestAnIdentityDocumentIsVerifiedByTheRegionsCertificateAlone(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl isn't on the PATH, and to verify our signature by our own code would prove little")
	}
	c := newCaller(t, Options{})
	id := c.launch()[0]
	region, err := NewRegion(start)
	if err != nil {
		t.Fatal(err)
	}
	identity, err := c.simulator.IdentityOf(region, id)
	if err != nil {
		t.Fatal(err)
	}
	text, err := verify(t, identity, region.Certificate())
	if err != nil || strings.ReplaceAll(text, "\r\n", "\n") != identity.Document {
		t.Errorf("openssl gives %v and\n%s\nwant\n%s", err, text, identity.Document)
	}
	var document struct{ InstanceID, AccountID, Region, PendingTime string }
	if err := json.Unmarshal([]byte(identity.Document), &document); err != nil || document.InstanceID != id ||
		document.AccountID != "111122223333" || document.Region != "us-east-1" ||
		document.PendingTime != "2026-11-30T06:00:00Z" {
		t.Errorf("the document says %+v (%v)", document, err)
	}
	other, err := NewRegion(start)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify(t, identity, other.Certificate()); err == nil {
		t.Error("another region's certificate verified the document")
	}
	if _, err := c.simulator.IdentityOf(region, "i-0ffffffffffffffff"); err == nil {
		t.Error("an instance that isn't there has an identity")
	}
}
