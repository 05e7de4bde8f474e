//go:build unix

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// longestToken is the longest life of a token, in seconds.
const longestToken = 21600

// metadata is the metadata service of one machine, by IMDSv2 alone: what a host can
// learn of itself, and who it is by its region's signature. The real one has one
// address on every machine; here each has its own, on loopback.
type metadata struct {
	account  *ec2sim.Simulator
	region   *ec2sim.Region
	instance string
	server   *http.Server
	url      string

	mutex  sync.Mutex
	tokens map[string]time.Time // until when each is good
}

func serveMetadata(account *ec2sim.Simulator, region *ec2sim.Region, instance string) (*metadata, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the metadata service of %s: %w", instance, err)
	}
	m := &metadata{account: account, region: region, instance: instance, url: "http://" + listener.Addr().String(),
		tokens: map[string]time.Time{}}
	m.server = &http.Server{Handler: m.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(listener) }() // only close ends it
	return m, nil
}

func (m *metadata) close() { _ = m.server.Close() }

func (m *metadata) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", m.giveToken)
	mux.Handle("GET /latest/meta-data/instance-id", m.known(func() (string, error) { return m.instance, nil }))
	mux.Handle("GET /latest/dynamic/instance-identity/document", m.known(func() (string, error) {
		identity, err := m.account.IdentityOf(m.region, m.instance)
		return identity.Document, err
	}))
	mux.Handle("GET /latest/dynamic/instance-identity/rsa2048", m.known(func() (string, error) {
		identity, err := m.account.IdentityOf(m.region, m.instance)
		return identity.RSA2048, err
	}))
	mux.Handle("GET /", m.known(func() (string, error) { return "", errNothingThere }))
	return mux
}

func (m *metadata) giveToken(w http.ResponseWriter, request *http.Request) {
	life, err := strconv.Atoi(request.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
	if err != nil || life < 1 || life > longestToken {
		http.Error(w, "400 - Bad Request", http.StatusBadRequest)
		return
	}
	token := rand.Text()
	m.mutex.Lock()
	m.tokens[token] = time.Now().Add(time.Duration(life) * time.Second)
	m.mutex.Unlock()
	_, _ = fmt.Fprint(w, token) // an error means that the client is gone
}

var errNothingThere = errors.New("there is nothing")

// known answers those that have a token.
func (m *metadata) known(value func() (string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		m.mutex.Lock()
		until := m.tokens[request.Header.Get("X-Aws-Ec2-Metadata-Token")]
		m.mutex.Unlock()
		if !time.Now().Before(until) {
			http.Error(w, "401 - Unauthorized", http.StatusUnauthorized)
			return
		}
		text, err := value()
		if err != nil {
			http.Error(w, "404 - Not Found", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, text)
	})
}
