package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// httpCloud is an infrastructure with an HTTP API: labels of at most 63 characters, lists
// in pages that lag behind, a volume for each server that outlives it, and names that
// several servers may have. It knows nothing of plugins, unlike the account of honest: the
// mistakes of beginners come from an API that isn't made for the contract.
type httpCloud struct {
	url string

	mutex   sync.Mutex
	next    int
	servers map[string]httpServer
	volumes map[string]httpVolume
}

type httpServer struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Zone   string            `json:"zone"`
	Type   string            `json:"type"`
	Labels map[string]string `json:"labels"`
	made   time.Time
}

type httpVolume struct {
	ID     string            `json:"id"`
	Server string            `json:"server"`
	Labels map[string]string `json:"labels"`
}

const (
	httpPageSize = 2
	httpLag      = 30 * time.Millisecond
)

func newHTTPCloud(t *testing.T) *httpCloud {
	c := &httpCloud{servers: map[string]httpServer{}, volumes: map[string]httpVolume{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /servers", c.create)
	mux.HandleFunc("GET /servers", c.listServers)
	mux.HandleFunc("DELETE /servers/{id}", func(w http.ResponseWriter, r *http.Request) { remove(c, c.servers, w, r) })
	mux.HandleFunc("GET /volumes", c.listVolumes)
	mux.HandleFunc("DELETE /volumes/{id}", func(w http.ResponseWriter, r *http.Request) { remove(c, c.volumes, w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

var httpLabel = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

func (c *httpCloud) create(w http.ResponseWriter, r *http.Request) {
	var wanted httpServer
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, value := range wanted.Labels {
		if !httpLabel.MatchString(value) {
			http.Error(w, fmt.Sprintf("label %s: %q is not a label value", name, value), http.StatusUnprocessableEntity)
			return
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.next++
	wanted.ID, wanted.made = fmt.Sprintf("s%04d", c.next), time.Now()
	c.servers[wanted.ID] = wanted
	volume := httpVolume{ID: fmt.Sprintf("v%04d", c.next), Server: wanted.ID, Labels: wanted.Labels}
	c.volumes[volume.ID] = volume
	writeHTTP(w, wanted)
}

// page is a piece of a list: the ids after one, as far as they fit.
func page[T any](all map[string]T, r *http.Request, shown func(T) bool) (items []T, next string) {
	items = []T{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if id <= r.URL.Query().Get("after") || !shown(all[id]) {
			continue
		}
		if len(items) == httpPageSize {
			return items, next
		}
		items, next = append(items, all[id]), id
	}
	return items, ""
}

// matches says whether labels have what a request asks for, as "label=name=value".
func matches(labels map[string]string, r *http.Request) bool {
	for _, wanted := range r.URL.Query()["label"] {
		if name, value, _ := strings.Cut(wanted, "="); labels[name] != value {
			return false
		}
	}
	return true
}

func (c *httpCloud) listServers(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	items, next := page(c.servers, r, func(s httpServer) bool {
		return time.Since(s.made) >= httpLag && matches(s.Labels, r)
	})
	writeHTTP(w, map[string]any{"items": items, "next": next})
}

func (c *httpCloud) listVolumes(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	items, next := page(c.volumes, r, func(v httpVolume) bool { return matches(v.Labels, r) })
	writeHTTP(w, map[string]any{"items": items, "next": next})
}

func remove[T any](c *httpCloud, from map[string]T, w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, found := from[r.PathValue("id")]; !found {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	delete(from, r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}

func writeHTTP(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }

// count is everything that costs money.
func (c *httpCloud) count(context.Context) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.servers) + len(c.volumes), nil
}
