package agentserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// Store is what enrollment needs of the durable truth.
type Store interface {
	// TokenSubjects reads what the token of an operation or a batch is bound to: that
	// operation, or the batch's operations in their order; none: there is neither.
	TokenSubjects(ctx context.Context, key fleet.OperationID) ([]fleet.EnrollmentSubject, error)
	// Enroll stores the runner and spends its operation's token in one
	// transaction. If the token is spent: fleet.AlreadyEnrolledError; if it isn't the
	// operation's any more: fleet.VoidTokenError; if another runner of an instance
	// that isn't over has the same verified identity: fleet.IdentityTakenError.
	Enroll(ctx context.Context, runner fleet.Runner, tokenHash string) error
	// RunnerSubject reads what the runner stands for.
	RunnerSubject(context.Context, fleet.RunnerID) (fleet.EnrollmentSubject, bool, error)
	// RecordRunners replaces the facts of known runners in one transaction. It
	// leaves Revoked as it is stored, which is not the agents' to change.
	RecordRunners(context.Context, []fleet.Runner) error
}

// Config is what a Server is made of. Authorities, Tokens, Store and Now are
// required.
type Config struct {
	Authorities *pki.AuthoritySet
	Tokens      *pki.Tokens
	Store       Store
	// Binaries are offered for download; nil: none.
	Binaries *AgentBinaries
	// Now is the manager's clock, the only one by which certificates, tokens
	// and skew are checked.
	Now func() time.Time
	// Random is the entropy of runner ids.
	Random io.Reader
	// Jitter gives numbers in [0,1) that spread the agents' calls; nil: none.
	Jitter func() float64
	// Connection is what the CI process of a runner needs to reach its scheduler;
	// false: the scheduler hasn't taken the runner yet. nil: no runner has one.
	Connection func(fleet.CapacityInstanceID) (Connection, bool)
	// Verifier verifies the identity of hosts whose fleet asks for it; nil: none of
	// these enrolls.
	Verifier Verifier
	// VerifyTime is how long one verification may take; 0: 8 seconds.
	VerifyTime time.Duration
	// Wake is called after a fact was stored that the loop waits for; nil: none.
	Wake   func()
	Logger *slog.Logger
	// CertificateLife is how long a client certificate lasts; 0: one hour.
	CertificateLife time.Duration
	// FlushInterval is how often facts of heartbeats are stored; 0: one second.
	FlushInterval time.Duration
}

// Connection is what a scheduler gave for one admitted runner. The environment
// is secret: it goes to that runner's agent, and nowhere else.
type Connection struct {
	Command     []string
	Environment map[string]string
	// StoppedByScheduler says that the scheduler stops the process itself, and the agent
	// doesn't.
	StoppedByScheduler bool
}

// Bounds of the endpoint. Nothing that an unknown caller sends may block the manager.
const (
	maxCalls       = 512 // calls in work at once
	maxDownloads   = 64
	maxHeaderBytes = 16 << 10
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 15 * time.Second
	answerTimeout  = 30 * time.Second
	// idleTimeout outlasts the longest heartbeat interval, so that an agent
	// keeps its connection.
	idleTimeout     = 2 * time.Minute
	downloadTimeout = 10 * time.Minute
)

// Server answers agents. Make it with NewServer and end it with Close.
type Server struct {
	Config
	recorder  *recorder
	refusals  *refusalLog
	facts     *refusalFacts
	anonymous *anonymousLimiter
	open      *anonymousConnections
	verifying *verifications
	http      *http.Server
	calls     chan struct{}
	downloads chan struct{}
	random    sync.Mutex // Random needn't be safe for concurrent use
}

// NewServer makes a server and starts the recorder of its facts.
func NewServer(c Config) (*Server, error) {
	if c.Authorities == nil || c.Tokens == nil || c.Store == nil || c.Now == nil || c.Random == nil || c.Logger == nil {
		return nil, errors.New("an agent server needs authorities, tokens, a store, a clock, randomness and a logger")
	}
	if c.Jitter == nil {
		c.Jitter = func() float64 { return 0 }
	}
	if c.Wake == nil {
		c.Wake = func() {}
	}
	if c.Connection == nil {
		c.Connection = func(fleet.CapacityInstanceID) (Connection, bool) { return Connection{}, false }
	}
	if c.CertificateLife == 0 {
		c.CertificateLife = time.Hour
	}
	if c.VerifyTime == 0 {
		c.VerifyTime = verifyTime
	}
	if c.FlushInterval == 0 {
		c.FlushInterval = time.Second
	}
	s := &Server{
		Config:    c,
		calls:     make(chan struct{}, maxCalls),
		downloads: make(chan struct{}, maxDownloads),
		refusals: newRefusalLog(
			c.Logger,
			c.Now,
		),
		facts:     newRefusalFacts(),
		anonymous: newAnonymousLimiter(),
		open:      newAnonymousConnections(),
		verifying: newVerifications(),
	}
	s.recorder = startRecorder(c.Store, c.FlushInterval, c.Now, c.Wake, c.Logger)
	s.http = &http.Server{
		Handler:           s,
		TLSConfig:         s.TLSConfig(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout + bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       ConnContext,
		ErrorLog:          s.errorLog(),
	}
	return s, nil
}

// TLSConfig asks for client certificates and leaves the decision about them to the
// handlers: enrolling agents have none, and an expired one may still renew.
func (s *Server) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"http/1.1"},
		ClientAuth: tls.RequestClientCert,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.Authorities.ServerCertificate(hello.ServerName, s.Now())
		},
	}
}

// Serve answers agents on the listener until Close. It owns the listener.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.ServeTLS(&countingListener{l, s.open}, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer agents on %s: %w", l.Addr(), err)
	}
	return nil
}

// Close stops listening, lets calls in work finish until ctx ends, and stores
// the facts that aren't yet.
func (s *Server) Close(ctx context.Context) error {
	shut := s.http.Shutdown(ctx)
	if shut != nil {
		shut = fmt.Errorf("finish the agents' calls: %w", errors.Join(shut, s.http.Close()))
	}
	s.refusals.close()
	return errors.Join(shut, s.recorder.close(ctx))
}

// ServeHTTP routes a call, bounds it, and turns its end into JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	end := func(bool, time.Time) {}
	if s.isRunner(r) {
		markAuthenticated(r)
	} else if end = s.anonymous.begin(address(r), s.Now()); end == nil {
		s.refuse(w, r, tooMany())
		return
	}
	answer, err := s.call(w, r)
	end(err != nil, s.Now())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.refusals.pass()
	if answer != nil {
		writeJSON(w, http.StatusOK, "application/json", answer)
		passAnswered(w, answer)
	}
}

// call runs the endpoint. A nil answer without an error has been written.
func (s *Server) call(w http.ResponseWriter, r *http.Request) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = tryLater("internal error of the manager; see its log").with("panic", p, "stack", string(debug.Stack()))
		}
	}()
	if r.URL.Path == agentapi.DownloadPath {
		return nil, s.download(w, r)
	}
	endpoint := map[string]func(*http.Request, []byte) (any, error){
		agentapi.EnrollPath:    s.enroll,
		agentapi.HeartbeatPath: s.heartbeat,
		agentapi.RenewPath:     s.renew,
		agentapi.LeavePath:     s.leave,
	}[r.URL.Path]
	if endpoint == nil {
		return nil, &refusal{status: http.StatusNotFound, code: agentapi.CodeBadRequest, detail: "no such endpoint"}
	}
	if r.Method != http.MethodPost {
		return nil, &refusal{
			status: http.StatusMethodNotAllowed,
			code:   agentapi.CodeBadRequest,
			detail: "this endpoint takes POST",
		}
	}
	// The body is read before a slot is taken: a slow sender delays no other caller.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, agentapi.MaxBodyBytes))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, &refusal{
				status: http.StatusRequestEntityTooLarge,
				code:   agentapi.CodeBadRequest,
				detail: fmt.Sprintf("the body is over %d bytes", agentapi.MaxBodyBytes),
			}
		}
		return nil, tryLater("the request body is incomplete")
	}
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		return nil, tryLater("the manager is busy with other agents")
	}
	return endpoint(r, body)
}
