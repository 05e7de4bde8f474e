package metadatafake

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Service is a metadata service of AWS, Google Cloud and Azure with the values of a test.
// Its fields are changed by Set only.
type Service struct {
	mu     sync.Mutex
	Values map[string]string // by path
	Status int               // answered instead of a value; 0: none
	Token  string            // that AWS's service accepts now
	Asked  []string          // method and path of each call
}

// ServeHTTP answers as the platform does that the path belongs to.
func (m *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Asked = append(m.Asked, r.Method+" "+r.URL.Path)
	value, found := m.Values[r.URL.Path]
	switch {
	case m.Status != 0:
		w.WriteHeader(m.Status)
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" &&
		r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
		_, _ = w.Write([]byte(m.Token))
	case strings.HasPrefix(r.URL.Path, "/latest/") && r.Header.Get("X-aws-ec2-metadata-token") != m.Token,
		strings.HasPrefix(r.URL.Path, "/metadata/") && r.Header.Get("Metadata") != "true",
		strings.HasPrefix(r.URL.Path, "/computeMetadata/") && r.Header.Get("Metadata-Flavor") != "Google":
		w.WriteHeader(http.StatusUnauthorized)
	case !found:
		w.WriteHeader(http.StatusNotFound)
	default:
		if strings.HasPrefix(r.URL.Path, "/computeMetadata/") {
			w.Header().Set("Metadata-Flavor", "Google")
		}
		_, _ = w.Write([]byte(value))
	}
}

// Set changes the service between two calls.
func (m *Service) Set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// Start starts a service with the values by path, for the length of the test.
func Start(t testing.TB, values map[string]string) (*Service, string) {
	t.Helper()
	m := &Service{Values: map[string]string{}, Token: "a token"}
	maps.Copy(m.Values, values)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, server.URL
}
