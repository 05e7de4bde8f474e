package pluginstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certified writes a certificate for a name that doesn't resolve elsewhere.
func certified(t testing.TB, name string) (certificate, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(
			1,
		),
		DNSNames:              []string{name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return certificate, key, roots
}

// proxyTo is a proxy that leads every name to one address.
func proxyTo(t testing.TB, address string, asked chan<- string) *httptest.Server {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		select {
		case asked <- r.Host:
		default:
		}
		out, err := net.Dial("tcp", address)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer out.Close()
		in, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		if _, err := io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(out, buffered)
			_ = out.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(proxy.Close)
	return proxy
}

// A registry that has a name and speaks TLS is reached only by the proxy of
// the environment.
func TestAProxyIsUsedAndNamed(t *testing.T) {
	t.Parallel()
	const host = "registry.example"
	certificate, key, roots := certified(t, host)
	registry := startRegistry(t, "  tls:\n    certificate: "+certificate+"\n    key: "+key+"\n")
	asked := make(chan string, 1)
	proxy := proxyTo(t, registry.address, asked)
	variables := map[string]string{"HTTPS_PROXY": strings.Replace(proxy.URL, "http://", "http://ci:sesame@", 1)}
	origin := environment(t, variables)
	origin.Registry.roots = roots
	published := publish(t, origin, releaseOf(t, example, "1.4.2", nil))
	u := newUser(t, origin, example, "")
	u.required.AllowUnsigned = true
	if done := u.mustInstall(); done.Index != published.Index {
		t.Errorf("installed %+v", done)
	}
	if name := <-asked; name != host+":443" {
		t.Errorf("the proxy was asked for %s", name)
	}

	other := newUser(t, environment(t, variables), example, "") // who doesn't know the authority
	refused[*UnreachableError](other, other.plain, "certificate", "by the proxy http://ci:xxxxx@")
	registry.stop()
	late := newUser(t, origin, example, "")
	refused[*UnreachableError](
		late,
		late.plain,
		host+" can't be reached",
		"by the proxy http://ci:xxxxx@"+strings.TrimPrefix(proxy.URL, "http://"),
	)
	if _, err := late.plain(); strings.Contains(err.Error(), "sesame") {
		t.Errorf("the proxy's password is told: %v", err)
	}
}
