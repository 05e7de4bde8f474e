package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
)

// The names of events.
const (
	progressEvent = "progress"
	problemEvent  = "problem"
)

// retryMillis is what browsers wait before they connect again.
const retryMillis = 2000

// addPastEvents adds the events that the store tells of, beside the stream.
func (h *Handler) addPastEvents() {
	type pastInput struct {
		Fleet string    `query:"fleet" maxLength:"512" doc:"Only events of this fleet: its address or name."`
		Since time.Time `query:"since" doc:"Only events from this time on, with a time zone."`
		Limit int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The largest number of entries; the newest are returned."`
	}
	add(h, route{
		id:      "past-events",
		method:  http.MethodGet,
		path:    "/v1/events/past",
		useCase: "events",
		tag:     "events",
		summary: "Events, oldest first",
		about: "Decisions, the last state change of each instance, the results of provider calls and, for holders of " +
			"fleet.manage, the actions of users. " +
			"With fleet, actions of users are left out. State changes before an instance's last one are only in the stream.",
	},
		func(ctx context.Context, in *pastInput) (*body[List[query.Event]], error) {
			events, err := h.service.Events(ctx, query.EventFilter{Fleet: in.Fleet, Since: in.Since, Limit: in.Limit})
			return listOf(events), err
		})
}

func (h *Handler) addEvents() {
	r := route{
		id:      "events",
		method:  http.MethodGet,
		path:    "/v1/events",
		useCase: "watch",
		tag:     "events",
		summary: "The loop's progress as a stream",
		about: "Server-sent events: progress with a Progress as its data, the first one with the current state; and " +
			"problem with a Problem, if the manager ends the stream. " +
			"A comment every 15 seconds keeps the connection alive. Events are not repeated: after reconnecting, the first " +
			"one has the state at that time.",
	}
	components := h.api.OpenAPI().Components.Schemas
	events := map[string]any{}
	for name, kind := range map[string]reflect.Type{progressEvent: reflect.TypeFor[progress.Progress](),
		problemEvent: reflect.TypeFor[Problem]()} {
		events[name] = components.Schema(kind, true, name)
	}
	op := huma.Operation{
		OperationID: r.id,
		Method:      r.method,
		Path:        r.path,
		Summary:     r.summary,
		Description: r.about,
		Tags:        []string{r.tag},
		Metadata:    map[string]any{routeKey: r},
		Extensions: map[string]any{
			"x-use-case":   r.useCase,
			"x-permission": access.Permissions[r.useCase],
			"x-events":     events,
		},
		Responses: map[string]*huma.Response{
			"default": h.failure(),
			"200": {Description: "The stream.", Content: map[string]*huma.MediaType{
				"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
			}},
		},
	}
	huma.Register(h.api, op, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
		select {
		case h.streams <- struct{}{}:
		default:
			return nil, failed(
				http.StatusServiceUnavailable,
				codeBusy,
				fmt.Sprintf("%d streams are already open; close some, or try again later", maxStreams),
			)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			defer func() { <-h.streams }()
			r, w := humago.Unwrap(c)
			h.stream(c.Context(), r, &eventWriter{to: w, by: http.NewResponseController(w)})
		}}, nil
	})
}

// heard is one thing that a watch yields.
type heard struct {
	progress progress.Progress
	err      error
}

// stream sends what the loop does until the caller leaves, is no longer let in,
// the manager ends, or the watch is cut off.
func (h *Handler) stream(ctx context.Context, r *http.Request, to *eventWriter) {
	ctx, leave := context.WithCancel(ctx)
	watched := make(chan heard)
	go func() {
		defer close(watched)
		for p, err := range h.service.Watch(ctx) {
			select {
			case watched <- heard{p, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { // the watch is ours: wait for its end
		leave()
		for range watched {
		}
	}()
	beat := time.NewTicker(h.heartbeat)
	defer beat.Stop()
	err := to.begin()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-h.ending:
			_ = to.send(
				problemEvent,
				failed(http.StatusServiceUnavailable, codeEnding, "the manager is stopping; connect again when it runs"),
			)
			return
		case <-beat.C:
			if _, denied := h.caller(r); denied != nil {
				_ = to.send(problemEvent, h.problem(ctx, denied))
				return
			}
			err = to.beat()
		case one, open := <-watched:
			switch {
			case !open:
				return
			case one.err != nil:
				_ = to.send(problemEvent, h.problem(ctx, one.err))
				return
			}
			err = to.send(progressEvent, one.progress)
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	to http.ResponseWriter
	by *http.ResponseController
	id int64
}

func (e *eventWriter) begin() error {
	header := e.to.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // proxies hold answers back otherwise
	return e.write("retry: %d\n\n", retryMillis)
}

func (e *eventWriter) beat() error { return e.write(": the connection lives\n\n") }

// send writes one event. JSON has no line breaks, so that its data is one line.
func (e *eventWriter) send(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	e.id++
	return e.write("id: %d\nevent: %s\ndata: %s\n\n", e.id, name, text)
}

func (e *eventWriter) write(format string, args ...any) error {
	if _, err := fmt.Fprintf(e.to, format, args...); err != nil {
		return err
	}
	return e.by.Flush()
}
