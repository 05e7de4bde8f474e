package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// Endpoint is where a manager is: Socket, or else URL.
type Endpoint struct {
	// Socket is the path of the manager's unix socket. It takes no token.
	Socket string
	// URL is https://HOST[:PORT].
	URL string
	// CAFingerprint pins the installation's authority ("sha256:…"). Empty: the
	// system's authorities and the host's name decide.
	CAFingerprint string
	// Token is the secret of an API token.
	Token string
	// Now is the time by which certificates are checked; nil: the machine's clock.
	Now func() time.Time
}

// Client is a installation.Service that asks a manager elsewhere. The caller is who
// the manager takes the client for, whatever the context says.
type Client struct {
	at    string // for errors
	base  string
	token string
	http  *http.Client
	about About
}

var _ installation.Service = (*Client)(nil)

// UnreachableError says that nothing answers at an endpoint, or something that
// isn't trusted.
type UnreachableError struct {
	At  string
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("reach the manager at %s: %v", e.At, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

const connectTimeout = 10 * time.Second

// Dial finds a manager and asks for its version, so that what is wrong with the
// endpoint or the token is known before anything is done: *UnreachableError,
// access.ErrUnauthenticated, or what the endpoint lacks.
func Dial(ctx context.Context, e Endpoint) (*Client, error) {
	c, err := newClient(e)
	if err != nil {
		return nil, err
	}
	if err := c.call(ctx, call{method: http.MethodGet, path: "/v1/version", into: &c.about}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newClient(e Endpoint) (*Client, error) {
	dialer := &net.Dialer{Timeout: connectTimeout}
	transport := &http.Transport{
		TLSHandshakeTimeout: connectTimeout, MaxIdleConns: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
	}
	c := &Client{token: e.Token, http: &http.Client{
		Transport: transport,
		// A redirect would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if e.Socket != "" {
		if e.URL != "" || e.Token != "" || e.CAFingerprint != "" {
			return nil, errors.New("a socket takes no URL, token or fingerprint; give only the socket, or leave it out")
		}
		c.at, c.base = e.Socket, "http://manager"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", e.Socket)
		}
		return c, nil
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" {
		return nil, fmt.Errorf("the server %q isn't https://HOST[:PORT]; a token is sent only over TLS", e.URL)
	}
	if e.Token == "" {
		return nil, fmt.Errorf("no token for %s; make one beside the manager with: forgeyard-fleet token create", e.URL)
	}
	if strings.ContainsFunc(e.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New(
			"the token has a space, a line's end or another character that no token has; give it as forgeyard-fleet token " +
				"create printed it",
		)
	}
	c.at, c.base = "https://"+u.Host, "https://"+u.Host
	transport.DialContext, transport.Proxy = dialer.DialContext, http.ProxyFromEnvironment
	if e.CAFingerprint != "" {
		if err := checkFingerprint(e.CAFingerprint); err != nil {
			return nil, err
		}
		now := e.Now
		if now == nil {
			now = time.Now
		}
		transport.TLSClientConfig = pinned(e.CAFingerprint, now)
	}
	return c, nil
}

// Close closes the connections that aren't in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// About is what the manager said of itself at first.
func (c *Client) About() About { return c.about }

// call is one request. send and into are of JSON; nil: nothing.
type call struct {
	method, path string
	query        url.Values
	send, into   any
}

// maxAnswer bounds what a client reads: a manager is trusted, a mistake isn't.
const maxAnswer = 256 << 20

func (c *Client) call(ctx context.Context, one call) error {
	response, err := c.send(ctx, one)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if one.into == nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return &UnreachableError{c.at, fmt.Errorf("read the answer: %w", err)}
	}
	if err := plainjson.Read(text, one.into); err != nil {
		return fmt.Errorf(
			"read the answer of the manager at %s to %s %s: %w; is it of another version?",
			c.at,
			one.method,
			one.path,
			err,
		)
	}
	return nil
}

// send returns the response of a request that succeeded. A problem comes back as
// the error that the service had.
func (c *Client) send(ctx context.Context, one call) (*http.Response, error) {
	var content io.Reader
	if one.send != nil {
		text, err := json.Marshal(one.send)
		if err != nil {
			return nil, fmt.Errorf("write the request %s %s: %w", one.method, one.path, err)
		}
		if len(text) > submissionBody {
			return nil, &access.InvalidError{
				Reason: fmt.Sprintf(
					"the files are too many for a manager elsewhere: the request has %d MiB and may have %d; is one of them not a "+
						"fleet file?",
					len(text)>>20,
					submissionBody>>20,
				),
			}
		}
		content = bytes.NewReader(text)
	}
	target := c.base + one.path
	if len(one.query) > 0 {
		target += "?" + one.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, one.method, target, content)
	if err != nil {
		return nil, fmt.Errorf("write the request %s %s: %w", one.method, one.path, err)
	}
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // its URL says no more than ours
		}
		return nil, &UnreachableError{c.at, err}
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close()
		return nil, c.problem(response)
	}
	return response, nil
}

// problem is the error of an answer that isn't the wanted one.
func (c *Client) problem(response *http.Response) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	var p Problem
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil || kind != "application/problem+json" || json.Unmarshal(text, &p) != nil {
		return &UnreachableError{
			c.at,
			fmt.Errorf("the answer is %q and not of a manager; is the address right?", response.Status),
		}
	}
	return p.errorOf()
}
