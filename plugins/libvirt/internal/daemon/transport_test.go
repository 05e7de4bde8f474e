package daemon

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"
	"golang.org/x/crypto/ssh"
)

// serve does the same with each connection, and hears what else it says. When the
// test ends, each must have been ended by us.
func serve(t *testing.T, listener net.Listener, with func(net.Conn)) {
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				with(conn)
				_, _ = io.Copy(io.Discard, conn)
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
}

// peer serves on this machine.
func peer(t *testing.T, with func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, listener, with)
	return listener.Addr().String()
}

// credentials are a key for ssh and an untrusted certificate for TLS.
func credentials(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("key", pem.EncodeToMemory(block))
	write("known_hosts", nil)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "c"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write("clientkey.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	for _, name := range []string{"clientcert.pem", "cacert.pem"} {
		write(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	}
	return folder
}

func TestHungGreetingLeaksNoConnection(t *testing.T) {
	folder := credentials(t)
	address := peer(t, func(net.Conn) {})
	for _, text := range []string{
		"qemu+ssh://ci@" + address + "/system?keyfile=" + folder + "/key&known_hosts=" + folder + "/known_hosts",
		"qemu+tls://" + address + "/system?pkipath=" + folder,
	} {
		target, err := ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		d := New("a", target, Limits{Connect: 200 * time.Millisecond, Call: 200 * time.Millisecond})
		began := time.Now()
		err = d.Look(t.Context(), "ask", func(*api.Libvirt) error { return nil })
		if _, ok := errors.AsType[*UnreachableError](err); !ok ||
			!strings.Contains(err.Error(), "no connection within 200ms") {
			t.Errorf("%s: %v", text, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", text, took)
		}
	}
}

// The library takes a packet's length as it comes, and a length that is shorter than
// the header ended the process.
func TestForeignProtocolEndsOnlyTheConnection(t *testing.T) {
	for name, words := range map[string]string{
		"zeros":        strings.Repeat("\x00", 64),
		"a short one":  "\x00\x00\x00\x08" + strings.Repeat("\x00", 64),
		"a web server": "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400 Bad Request",
	} {
		address := peer(t, func(conn net.Conn) { _, _ = io.WriteString(conn, words) })
		target := Target{text: "test", driver: "qemu:///system", dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}}
		d := New("a", target, Limits{Connect: 10 * time.Second, Call: 10 * time.Second})
		if err := d.Look(t.Context(), "ask", func(*api.Libvirt) error { return nil }); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPacketsOfEveryCutAreFollowed(t *testing.T) {
	packet := append([]byte{0, 0, 0, 30}, make([]byte, 26)...)
	stream := append(append([]byte{}, packet...), packet...)
	for size := 1; size <= len(stream); size++ {
		w := newWire(nil)
		for rest := stream; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if !w.follow(rest[:min(size, len(rest))]) {
				t.Fatalf("pieces of %d are refused", size)
			}
		}
		if w.seen != 0 {
			t.Errorf("pieces of %d end within a packet", size)
		}
	}
}
