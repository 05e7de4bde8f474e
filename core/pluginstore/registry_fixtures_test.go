package pluginstore

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// realRegistry is a running docker-registry: Debian's, on a free port of this
// machine.
type realRegistry struct {
	t       testing.TB
	dir     string
	address string // 127.0.0.1:PORT
	process *exec.Cmd
	ended   chan struct{}
	more    string // of its configuration
}

func startRegistry(t testing.TB, more string) *realRegistry {
	t.Helper()
	if _, err := exec.LookPath("docker-registry"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("docker-registry is missing; make deps installs it")
		}
		t.Skip("docker-registry is missing (Debian: apt-get install docker-registry)")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &realRegistry{t: t, dir: t.TempDir(), address: listener.Addr().String(), more: more}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *realRegistry) start() {
	r.t.Helper()
	configuration := filepath.Join(r.dir, "config.yml")
	text := fmt.Sprintf(
		"version: 0.1\nlog:\n  accesslog:\n    disabled: true\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: "+
			"%s\nhttp:\n  addr: %s\n%s",
		filepath.Join(r.dir, "storage"),
		r.address,
		r.more,
	)
	if err := os.WriteFile(configuration, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.process = exec.Command("docker-registry", "serve", configuration)
	r.process.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	var output bytes.Buffer
	r.process.Stdout, r.process.Stderr = &output, &output
	if err := r.process.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.ended = make(chan struct{})
	go func() {
		_ = r.process.Wait()
		close(r.ended)
	}()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-ticker.C {
		connection, err := net.Dial("tcp", r.address)
		if err == nil {
			connection.Close()
			return
		}
		select {
		case <-r.ended:
			r.t.Fatalf("docker-registry ended: %s", output.String())
		default:
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("docker-registry doesn't answer at %s", r.address)
		}
	}
}

func (r *realRegistry) stop() {
	_ = r.process.Process.Kill()
	<-r.ended
}

func (r *realRegistry) source() string { return r.address + "/acme/fleet-example" }

// file is where the registry keeps a blob.
func (r *realRegistry) file(digest string) string {
	hexadecimal := strings.TrimPrefix(digest, "sha256:")
	return filepath.Join(
		r.dir,
		"storage",
		"docker",
		"registry",
		"v2",
		"blobs",
		"sha256",
		hexadecimal[:2],
		hexadecimal,
		"data",
	)
}

// environment is an Origin with nothing of this machine's own.
func environment(t testing.TB, variables map[string]string) Origin {
	t.Helper()
	if variables["HOME"] == "" {
		variables["HOME"] = t.TempDir()
	}
	lookup := func(name string) (string, bool) { value, set := variables[name]; return value, set }
	return Origin{Registry: Registry{LookupEnv: lookup, UserAgent: "test", Patience: time.Millisecond}}
}

// network stands before a registry: it sees every request and may interfere.
type network struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	// before answers itself, where it says so.
	before func(w http.ResponseWriter, r *http.Request) bool
	// cut ends the next answers of blobs after so many bytes, one after the other.
	cut []int64
}

func newNetwork(t testing.TB, r *realRegistry) *network {
	t.Helper()
	n := &network{}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: r.address})
	forward.ErrorLog = nil
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		n.mu.Lock()
		n.requests = append(
			n.requests,
			strings.TrimSpace(request.Method+" "+request.URL.Path+" "+request.Header.Get("Range")),
		)
		var cut int64
		if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/blobs/") && len(n.cut) > 0 {
			cut, n.cut = n.cut[0], n.cut[1:]
		}
		before := n.before
		n.mu.Unlock()
		if before != nil && before(w, request) {
			return
		}
		if cut > 0 {
			w = &cutWriter{w, cut}
		}
		defer func() {
			if recover() != nil { // the cut
				panic(http.ErrAbortHandler)
			}
		}()
		forward.ServeHTTP(w, request)
	}))
	t.Cleanup(n.Close)
	return n
}

type cutWriter struct {
	http.ResponseWriter
	left int64
}

func (c *cutWriter) Write(bytes []byte) (int, error) {
	n := min(int64(len(bytes)), c.left)
	written, err := c.ResponseWriter.Write(bytes[:n])
	if c.left -= int64(written); c.left == 0 && err == nil {
		if flusher, ok := c.ResponseWriter.(http.Flusher); ok {
			flusher.Flush()
		}
		return written, io.ErrShortWrite
	}
	return written, err
}

func (n *network) source() string {
	return strings.TrimPrefix(n.URL, "http://") + "/acme/fleet-example"
}

// seen are the requests that contain a text.
func (n *network) seen(text string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []string
	for _, request := range n.requests {
		if strings.Contains(request, text) {
			found = append(found, request)
		}
	}
	return found
}

// secured is a registry's configuration with one user: ci, "open sesame".
func secured(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(
		path,
		[]byte("ci:$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW\n"),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	return "auth:\n  htpasswd:\n    realm: test\n    path: " + path + "\n"
}

func dockerLogin(t testing.TB, home, host, password string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, ".docker"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte("ci:"+password)))
	if err := os.WriteFile(filepath.Join(home, ".docker", "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
