package libvirt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a CA for one test.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		Subject: pkix.Name{CommonName: "CA"}}
	a.certificate, a.key = a.issue(template)
	return a
}

// issue signs by the authority, or by the certificate's own key where that is it.
func (a authority) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()),
		time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if template.IsCA {
		parent, signer = template, key
	}
	content, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(content)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, key
}

// write makes a folder with a certificate of the authority, named for a role, and
// with the certificate of the authority that the role trusts.
func (a authority) write(folder, role string, trusted authority, usage x509.ExtKeyUsage) string {
	a.t.Helper()
	certificate, key := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: role}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		role + "cert.pem": {Type: "CERTIFICATE", Bytes: certificate.Raw},
		role + "key.pem":  {Type: "PRIVATE KEY", Bytes: encoded},
		"cacert.pem":      {Type: "CERTIFICATE", Bytes: trusted.certificate.Raw},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return folder
}

func TestAMachineIsMadeAndEndsOverTLSAndAStrangerIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	needLong(t)
	ours, others := newAuthority(t), newAuthority(t)
	port := freePort(t)
	l := newLabWith(t, func(dir string) string {
		server := ours.write(filepath.Join(dir, "server"), "server", ours, x509.ExtKeyUsageServerAuth)
		return fmt.Sprintf(
			"listen_tls = 1\nlisten_addr = \"127.0.0.1\"\ntls_port = %q\nauth_tls = \"none\"\nkey_file = "+
				"\"%s/serverkey.pem\"\ncert_file = \"%s/servercert.pem\"\nca_file = \"%s/cacert.pem\"\n", port, server, server,
			server)
	})
	block := func(folder string) Host {
		return Host{Name: "a", URI: "qemu+tls://127.0.0.1:" + port + "/system?pkipath=" + folder, Pool: "default", VCPUs: 64,
			Memory: "64GiB"}
	}
	known := ours.write(filepath.Join(l.dir, "known"), "client", ours, x509.ExtKeyUsageClientAuth)
	p := giving(t, plenty, newTestHosts(t, block(known)))
	provision(t, p, "k1")
	list(t, p)
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)

	for name, test := range map[string]struct{ folder, want string }{
		"a client of another CA": {
			others.write(filepath.Join(l.dir, "foreign"), "client", ours, x509.ExtKeyUsageClientAuth),
			"signed by the CA that the daemon trusts"},
		"a daemon of another CA": {
			ours.write(filepath.Join(l.dir, "doubter"), "client", others, x509.ExtKeyUsageClientAuth),
			"certificate signed by unknown authority"},
		"no certificate":            {filepath.Join(l.dir, "nowhere"), "pkipath="},
		"the daemon's own for ours": {filepath.Join(l.dir, "server"), "clientcert.pem"},
	} {
		p := giving(t, plenty, newTestHosts(t, block(test.folder)))
		if _, err := p.all[0].capacity(context.WithoutCancel(t.Context())); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
