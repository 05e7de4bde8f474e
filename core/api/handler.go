package api

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// Config is what a handler is made from. All fields are required.
type Config struct {
	// Service does what routes ask for. It keeps a caller who is limited to fleets
	// to those: what is in others isn't there.
	Service installation.Service
	// Authenticate finds the caller of a token, or fails with
	// access.ErrUnauthenticated. It is asked on every request.
	Authenticate func(ctx context.Context, secret string) (access.Caller, error)
	// Owner is the uid of the state directory's owner: that user and root may do
	// everything over the socket, and others nothing.
	Owner int
	// Version is of this program.
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// Handler serves the API. NewServer makes a server of it.
type Handler struct {
	config  Config
	service installation.Service
	mux     *http.ServeMux
	api     huma.API
	applied *replays

	heartbeat time.Duration
	streams   chan struct{} // a place for each stream
	ending    chan struct{} // closed by endStreams
	end       sync.Once
}

const (
	heartbeatInterval = 15 * time.Second
	maxStreams        = 256
)

// NewHandler makes the handler of a service.
func NewHandler(c Config) *Handler {
	h := &Handler{
		config: c, service: c.Service, mux: http.NewServeMux(), applied: newReplays(c.Now),
		heartbeat: heartbeatInterval, streams: make(chan struct{}, maxStreams), ending: make(chan struct{}),
	}
	h.api = humago.New(h.mux, document())
	h.api.UseMiddleware(h.admit)
	h.addAbout()
	h.addFleets()
	h.addInstances()
	h.addOrders()
	h.addOverrides()
	h.addImages()
	h.addPlans()
	h.addPastEvents()
	h.addEvents()
	h.addTokens()
	h.addJoins()
	h.addKeys()
	polish(h.api.OpenAPI())
	return h
}

// endStreams ends all event streams, so that a server can shut down: they would
// never end by themselves.
func (h *Handler) endStreams() { h.end.Do(func() { close(h.ending) }) }

// ServeHTTP answers one request, whatever happens inside.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := newAnswer(w, r)
	r = r.WithContext(context.WithValue(r.Context(), answerKey{}, a))
	defer func() {
		if reason := recover(); reason != nil {
			h.panicked(a, r, reason)
		}
		if err := a.finish(); err != nil {
			h.config.Log.Debug("a caller hung up", "path", r.Pattern, "error", err)
		}
		h.config.Log.Debug("answered", "method", r.Method, "route", r.Pattern, "status", a.status)
	}()
	h.mux.ServeHTTP(a, r)
}

// route is one operation of the API. Who may use it is what control's table says
// about its use case.
type route struct {
	id, method, path string
	// useCase is a key of access.Permissions; "" for one that any caller may use.
	useCase string
	// open is for everybody, without a caller.
	open    bool
	summary string
	// about is the rest of what the document says.
	about string
	// body is the limit of the request's body; 0: the usual one.
	body   int64
	status int
	tag    string
}

const (
	usualBody = 256 << 10
	// submissionBody is 12 MiB of files in the base64 that JSON has for them.
	submissionBody = 16 << 20
	bodyTimeout    = time.Minute
)

// routeKey is where an operation's metadata holds its route.
const routeKey = "route"

// failure documents the problems of an operation.
func (h *Handler) failure() *huma.Response {
	schema := h.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{problem.MediaType: {Schema: schema}}}
}

// add makes a route known. What its handler fails with becomes a problem.
func add[In, Out any](h *Handler, r route, do func(context.Context, *In) (*Out, error)) {
	op := huma.Operation{
		OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.about, Tags: []string{r.tag},
		// A misspelled ?check would carry the order out. A probe of what is open to all may
		// carry what it likes.
		RejectUnknownQueryParameters: !r.open,
		DefaultStatus:                r.status, MaxBodyBytes: max(r.body, usualBody), BodyReadTimeout: bodyTimeout,
		Metadata: map[string]any{routeKey: r}, Extensions: map[string]any{},
		Responses: map[string]*huma.Response{"default": h.failure()},
	}
	switch {
	case r.open:
		op.Security = []map[string][]string{}
	case r.useCase != "":
		op.Extensions["x-use-case"] = r.useCase
		op.Extensions["x-permission"] = access.Permissions[r.useCase]
	}
	huma.Register(h.api, op, func(ctx context.Context, in *In) (*Out, error) {
		requestIsRead(ctx)
		out, err := do(ctx, in)
		if err != nil {
			return nil, h.problem(ctx, err)
		}
		return out, nil
	})
}
