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
)

// callTimeout bounds every call: a hung manager is a manager that is away.
const callTimeout = 15 * time.Second

// client calls the manager over TLS that is pinned to its authority.
type client struct {
	url         string
	http        *http.Client
	transport   *http.Transport
	pin         *pin
	certificate atomic.Pointer[tls.Certificate]
}

// RefusedError says that the manager will never take this agent's call, so that
// trying again is of no use.
type RefusedError struct {
	Code   string // an agentapi code
	Detail string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the manager refused this host for good (%s): %s", e.Code, e.Detail)
}

// problemError is an answer that isn't final.
type problemError struct {
	problem agentapi.Problem
}

func (e *problemError) Error() string {
	return fmt.Sprintf("the manager answered %s: %s", e.problem.Code, e.problem.Detail)
}

func newClient(c Config) (*client, error) {
	u, err := url.Parse(c.ManagerURL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the manager's URL %q is not an https URL; the bootstrap document is wrong", c.ManagerURL)
	}
	k := &client{url: strings.TrimSuffix(c.ManagerURL, "/"), pin: newPin(c)}
	k.transport = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSHandshakeTimeout: callTimeout,
		IdleConnTimeout:     time.Minute,
		MaxConnsPerHost:     2,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS13,
			ServerName: c.ServerName,
			// The manager's authority is known by its digest alone; the pin does
			// all that is skipped here and more.
			InsecureSkipVerify: true,
			VerifyConnection:   k.pin.verify,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if have := k.certificate.Load(); have != nil {
					return have, nil
				}
				return &tls.Certificate{}, nil
			},
		},
	}
	k.http = &http.Client{
		Transport:     k.transport,
		Timeout:       callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return k, nil
}

// use makes the certificate the agent's own from the next connection on. From
// then on the manager's certificate must also be valid by the host's clock.
func (k *client) use(certificate *tls.Certificate) {
	k.certificate.Store(certificate)
	k.pin.judgeTime.Store(true)
	k.transport.CloseIdleConnections()
}

func (k *client) close() { k.transport.CloseIdleConnections() }

// call posts in and reads the answer into out. A final problem is a
// *RefusedError; everything else may be tried again.
func (k *client) call(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write the call to %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the call to %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := k.http.Do(request)
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
		if err := json.Unmarshal(answer, out); err != nil {
			return fmt.Errorf("understand the manager's answer: %w", err)
		}
		return nil
	}
	var problem agentapi.Problem
	if json.Unmarshal(answer, &problem) != nil || problem.Code == "" {
		// Something between us and the manager answered.
		return fmt.Errorf("the call to %s was answered with status %d", path, response.StatusCode)
	}
	if agentapi.Final(problem.Code) {
		return &RefusedError{Code: problem.Code, Detail: problem.Detail}
	}
	return &problemError{problem}
}

func hasCode(err error, code string) bool {
	var p *problemError
	return errors.As(err, &p) && p.problem.Code == code
}
