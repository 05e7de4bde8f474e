package executor_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/queue/worker"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// host stands in for a machine: an agent that speaks to the manager over mutual
// TLS, and a worker that leases from the queue over HTTP. It does what both do,
// without processes, so that many of them cost little.
type host struct {
	w       *raceWorld
	clock   func() time.Time
	manager *http.Client
	url     string
	session string
	// news is told when there is something new to hear from the manager.
	news chan struct{}
	// runner is the queue's name for it, order the last one that it was told of.
	runner, order string
	// leased says that a job runs here.
	leased atomic.Bool
	leases int
}

// live enrolls, beats and works until the machine is taken away.
func (h *host) live(ctx context.Context, b pluginhost.Bootstrap) {
	if err := h.enroll(ctx, b); err != nil {
		h.w.complain(ctx, "enroll: %v", err)
		return
	}
	defer h.manager.CloseIdleConnections()
	var working func() // ends the worker, and returns when it has ended
	beat := idleBeat()
	for ctx.Err() == nil {
		beat.Clock = h.clock()
		var answer agentapi.HeartbeatResponse
		if err := h.call(ctx, agentapi.HeartbeatPath, beat, &answer); err != nil {
			h.w.complain(ctx, "beat: %v", err)
			return
		}
		d := answer.Directive
		news := d.Order != beat.Order
		beat.Heard, beat.Order = d.Want, d.Order
		switch {
		case d.Want == agentapi.WantRun && working == nil:
			working = h.begin(ctx, d.Env)
		case d.Want == agentapi.WantStop && working != nil:
			working()
			working = nil
		}
		beat.Phase, beat.GroupEmpty = "idle", true
		switch {
		case working != nil:
			beat.Phase, beat.GroupEmpty = "running", false
		case d.Want == agentapi.WantStop:
			beat.Phase = "stopped"
		}
		if !news {
			select {
			case <-ctx.Done():
			case <-h.news:
			}
		}
	}
	if working != nil {
		working()
	}
}

// begin starts the worker: it leases one job after another.
func (h *host) begin(ctx context.Context, env map[string]string) (end func()) {
	working, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	h.session += "s"
	go func() {
		defer close(done)
		for working.Err() == nil {
			h.leases++
			id := fmt.Sprintf("l%d", h.leases)
			var lease worker.Lease
			request := worker.LeaseRequest{Session: h.session, WaitSeconds: 0.1}
			// The question itself isn't broken off: a lease might be its answer.
			if err := ask(ctx, env, http.MethodPut, worker.LeasePath, id, request, &lease); err != nil {
				pause(working, 50*time.Millisecond)
				continue
			}
			if lease.Job == "" {
				continue
			}
			h.leased.Store(true)
			pause(ctx, time.Duration(10+mathrand.IntN(80))*time.Millisecond)
			err := ask(ctx, env, http.MethodPost, worker.FinishPath, id, worker.Result{Reason: "it is done"}, nil)
			h.leased.Store(false)
			if err != nil {
				h.w.complain(ctx, "finish %s: %v", lease.Job, err)
			}
		}
	}()
	return func() { stop(); <-done }
}

// enroll spends the token, as the agent does on a fresh machine.
func (h *host) enroll(ctx context.Context, b pluginhost.Bootstrap) error {
	document := bootstrap.Document{ManagerURL: b.ManagerURL, CAFingerprint: b.CAFingerprint, ServerName: b.ServerName}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return err
	}
	newcomer := bootstrap.TLSConfig(document, false)
	h.url, h.manager = b.ManagerURL, &http.Client{Transport: &http.Transport{TLSClientConfig: newcomer}}
	var answer agentapi.EnrollResponse
	err = h.call(ctx, agentapi.EnrollPath, agentapi.EnrollRequest{
		Token: b.Token, CSR: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr})),
		Clock: h.clock(), AgentVersion: agentVersion, OS: "linux", Arch: "amd64",
	}, &answer)
	h.manager.CloseIdleConnections()
	if err != nil {
		return err
	}
	block, _ := pem.Decode([]byte(answer.PEM))
	enrolled := bootstrap.TLSConfig(document, false)
	enrolled.Certificates = []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: key}}
	h.manager = &http.Client{Transport: &http.Transport{TLSClientConfig: enrolled}}
	return nil
}

func (h *host) call(ctx context.Context, path string, body, answer any) error {
	return send(ctx, h.manager, http.MethodPost, h.url+path, "", body, answer)
}

// ask is a call of the worker.
func ask(ctx context.Context, env map[string]string, method, path, id string, body, answer any) error {
	url := env[worker.URLVariable] + fmt.Sprintf(path, env[worker.RunnerVariable], id)
	return send(ctx, http.DefaultClient, method, url, env[worker.TokenVariable], body, answer)
}

func send(ctx context.Context, client *http.Client, method, url, token string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= 300:
		return fmt.Errorf("%s: %s", response.Status, content)
	case answer == nil || response.StatusCode == http.StatusNoContent:
		return nil
	}
	return json.Unmarshal(content, answer)
}

// tell has the host's agent call soon, as its timer would in a while.
func (h *host) tell() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// pause is how long something takes, or until it is cut short.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// idleBeat is what an agent says that has no job.
func idleBeat() agentapi.Heartbeat {
	return agentapi.Heartbeat{
		AgentVersion: agentVersion,
		GroupEmpty:   true,
		Phase:        "idle",
		Isolation:    agentapi.IsolationNone,
	}
}
