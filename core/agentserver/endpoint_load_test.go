package agentserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// BenchmarkHeartbeat measures whole beats over TLS with client certificates on
// connections that stay open, as agents hold them.
func BenchmarkHeartbeat(b *testing.B) {
	w := startWorld(b)
	h := w.provision(fleet.RunnerPolicy{Command: []string{"work"}}, "git")
	c := w.newCaller(newKey(b))
	c.enroll(h)
	beat := marshal(b, goodBeat())
	var failed atomic.Int64
	b.ResetTimer()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			response, err := c.http.Post(w.managerURL()+agentapi.HeartbeatPath, "application/json", strings.NewReader(beat))
			if err != nil {
				failed.Add(1)
				continue
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != 200 {
				failed.Add(1)
			}
		}
	})
	if failed.Load() > 0 {
		b.Fatalf("%d beats failed", failed.Load())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "beats/s")
}

// FuzzEndpoints sends any body to any endpoint: none may panic, and every
// refusal is a problem.
func FuzzEndpoints(f *testing.F) {
	w := newWorld(f)
	w.startManager()
	h := w.provision(fleet.RunnerPolicy{}, "git")
	key := newKey(f)
	c := w.newCaller(key)
	c.enroll(h)
	r, _ := w.runner(h)
	signed, err := w.authority.SignRunner(r.ID, &key.PublicKey, w.now(), 100*time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	leaf := parsePEM(f, signed.PEM)
	beat := goodBeat()
	beat.Probes = map[string]agentapi.Probe{"git": {OK: true, Evidence: "x"}}
	f.Add(uint8(0), []byte(c.enrollBody(h, nil)))
	f.Add(uint8(1), []byte(marshal(f, beat)))
	f.Add(uint8(2), []byte(marshal(f, agentapi.RenewRequest{CSR: csr(f, key)})))
	f.Add(uint8(3), []byte(`{"reason":"max_jobs"}`))
	paths := []string{agentapi.EnrollPath, agentapi.HeartbeatPath, agentapi.RenewPath, agentapi.LeavePath}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		request, err := http.NewRequestWithContext(
			context.Background(),
			http.MethodPost,
			paths[int(which)%len(paths)],
			bytes.NewReader(body),
		)
		if err != nil {
			t.Skip()
		}
		request.RemoteAddr = "127.0.0.1:1"
		request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
		answer := &answerWriter{header: http.Header{}}
		w.server.ServeHTTP(answer, request)
		if answer.status == 200 {
			return
		}
		var problem agentapi.Problem
		if err := json.Unmarshal(answer.body.Bytes(), &problem); err != nil || problem.Code == "" {
			t.Fatalf("%d is not a problem: %s", answer.status, answer.body.Bytes())
		}
		if problem.Code == agentapi.CodeTryLater {
			t.Fatalf("internal error of the manager: %s", w.log.String())
		}
	})
}

type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answerWriter) Header() http.Header         { return a.header }
func (a *answerWriter) WriteHeader(status int)      { a.status = status }
func (a *answerWriter) Write(p []byte) (int, error) { return a.body.Write(p) }
