package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// callTimeout bounds every call: a hung manager is a manager that is away.
const callTimeout = 15 * time.Second

// client calls the manager over TLS that is pinned to its authority.
type client struct {
	url string
	// unenrolled calls before there is a certificate. A host may boot with any
	// clock, and the manager tells it so better than a failed handshake: the
	// manager's own certificate isn't checked against it until the agent is enrolled.
	unenrolled, enrolled *http.Client
	certificate          atomic.Pointer[tls.Certificate]
	config               Config
}

// UntrustedManagerError says that the server isn't the manager that the
// bootstrap document names. Nothing was sent to it.
type UntrustedManagerError struct {
	Err error // what the check of its certificate said
}

func (e *UntrustedManagerError) Error() string { return e.Err.Error() }
func (e *UntrustedManagerError) Unwrap() error { return e.Err }

// RefusedError says that the manager doesn't want this agent, so that starting it
// again is of no use.
type RefusedError struct {
	Code   string // an agentapi code
	Detail string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the manager refused this host permanently (%s): %s", e.Code, e.Detail)
}

// problemError is an answer of the manager that isn't what was asked for.
type problemError struct {
	problem agentapi.Problem
}

func (e *problemError) Error() string {
	return fmt.Sprintf("the manager answered %s: %s", e.problem.Code, e.problem.Detail)
}

// reactionTo is what to do about a call that failed, and the refusal in case
// that it is to give up.
func reactionTo(err error) (agentapi.Reaction, *RefusedError) {
	var p *problemError
	if !errors.As(err, &p) {
		return agentapi.TryAgain, nil
	}
	return agentapi.ReactionTo(p.problem.Code), &RefusedError{Code: p.problem.Code, Detail: p.problem.Detail}
}

func newClient(c Config, t agentapi.Trust) (*client, error) {
	u, err := url.Parse(c.ManagerURL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("invalid manager URL %q in the bootstrap document: it must be an https URL", c.ManagerURL)
	}
	k := &client{url: strings.TrimSuffix(c.ManagerURL, "/"), config: c}
	k.trust(t)
	return k, nil
}

// trust makes the next connections to the manager that t names and to no other; zero: the bootstrap
// document's. No call may be under way.
func (k *client) trust(t agentapi.Trust) {
	if k.enrolled != nil {
		k.close()
	}
	k.unenrolled, k.enrolled = k.newHTTPClient(
		k.config.TLS(t, false),
		k.config.Now,
	), k.newHTTPClient(
		k.config.TLS(t, true),
		k.config.Now,
	)
}

// newHTTPClient makes a client over the pinned TLS that shows the agent's certificate
// where there is one.
func (k *client) newHTTPClient(pinned *tls.Config, now func() time.Time) *http.Client {
	pinned.Time = now
	check := pinned.VerifyConnection
	pinned.VerifyConnection = func(state tls.ConnectionState) error {
		if err := check(state); err != nil {
			return &UntrustedManagerError{err}
		}
		return nil
	}
	pinned.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if have := k.certificate.Load(); have != nil {
			return have, nil
		}
		return &tls.Certificate{}, nil
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			TLSHandshakeTimeout: callTimeout,
			IdleConnTimeout:     time.Minute,
			MaxConnsPerHost:     2,
			TLSClientConfig:     pinned,
		},
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// use makes the certificate the agent's own from the next connection on.
func (k *client) use(certificate *tls.Certificate) {
	k.certificate.Store(certificate)
	k.close()
}

func (k *client) close() {
	k.unenrolled.CloseIdleConnections()
	k.enrolled.CloseIdleConnections()
}

// call posts in and reads the answer into out. A problem of the manager is a
// *problemError.
func (k *client) call(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the request to %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request to %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	caller := k.unenrolled
	if k.certificate.Load() != nil {
		caller = k.enrolled
	}
	response, err := caller.Do(request)
	if err != nil {
		return fmt.Errorf("call the manager: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, agentapi.MaxBodyBytes+1))
	if err != nil {
		return fmt.Errorf("read the manager's answer: %w", err)
	}
	if len(answer) > agentapi.MaxBodyBytes {
		return errors.New("the manager's answer is too long")
	}
	if response.StatusCode == http.StatusOK {
		if err := plainjson.Read(answer, out); err != nil {
			return fmt.Errorf("decode the manager's answer: %w", err)
		}
		return nil
	}
	var problem agentapi.Problem
	if json.Unmarshal(answer, &problem) != nil || problem.Code == "" {
		// Something between us and the manager answered.
		return fmt.Errorf("the call to %s was answered with status %d", path, response.StatusCode)
	}
	return &problemError{problem}
}

func hasCode(err error, code string) bool {
	var p *problemError
	return errors.As(err, &p) && p.problem.Code == code
}

// hasProblem says whether the manager itself answered, with a refusal.
func hasProblem(err error) bool {
	var p *problemError
	return errors.As(err, &p)
}
