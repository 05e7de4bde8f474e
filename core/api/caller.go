package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// surface is the way that a request came. Each has one kind of proof: the socket
// the peer's user, TLS a token. Neither falls back on the other's.
type surface string

const (
	socketSurface surface = "socket"
	tlsSurface    surface = "tls"
	noSurface     surface = ""
)

// peer is who is at the other end of a unix socket.
type peer struct {
	uid int
	err error
}

type peerKey struct{}

// ConnContext asks the operating system who connected to a unix socket, once and
// before anything of theirs is read. It is for http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, err := peerUser(socket)
	return context.WithValue(ctx, peerKey{}, peer{uid, err})
}

type surfaceKey struct{}

func from(ctx context.Context) surface {
	s, _ := ctx.Value(surfaceKey{}).(surface)
	return s
}

func surfaceOf(r *http.Request) surface {
	if _, ok := r.Context().Value(peerKey{}).(peer); ok {
		return socketSurface
	}
	if r.TLS != nil {
		return tlsSurface
	}
	return noSurface
}

// admit lets a request through to its route, with its caller in the context. It
// comes before anything of a body is read.
func (h *Handler) admit(ctx huma.Context, next func(huma.Context)) {
	to := ctx.Operation().Metadata[routeKey].(route)
	if to.open {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	way := context.WithValue(ctx.Context(), surfaceKey{}, surfaceOf(r))
	caller, err := h.caller(r)
	if err == nil {
		way = access.WithCaller(way, caller)
		if to.useCase != "" {
			_, err = access.Authorize(way, to.useCase)
		}
	}
	if err != nil {
		p := h.problem(way, err)
		h.config.Log.Warn("refused a request", "route", to.id, "code", p.Code, "caller", caller.Name, "address", r.RemoteAddr)
		problem.Write(w, p)
		return
	}
	next(huma.WithContext(ctx, way))
}

// caller establishes who asks.
func (h *Handler) caller(r *http.Request) (access.Caller, error) {
	header, given := r.Header["Authorization"]
	switch surfaceOf(r) {
	case socketSurface:
		if given {
			return access.Caller{}, failed(http.StatusBadRequest, codeBadRequest,
				"the manager's socket identifies its callers by their user; use a token only with the https address")
		}
		return h.localCaller(r.Context().Value(peerKey{}).(peer))
	case tlsSurface:
		if len(header) != 1 {
			return access.Caller{}, access.ErrUnauthenticated
		}
		scheme, secret, _ := strings.Cut(header[0], " ")
		if !strings.EqualFold(scheme, "bearer") || secret == "" {
			return access.Caller{}, access.ErrUnauthenticated
		}
		return h.config.Authenticate(r.Context(), secret)
	}
	return access.Caller{}, failed(
		http.StatusForbidden,
		codeDenied,
		"tokens are accepted only over TLS; use the https address or the manager's socket",
	)
}

// localCaller is the user of a process on this machine.
func (h *Handler) localCaller(p peer) (access.Caller, error) {
	if p.err != nil {
		return access.Caller{}, fmt.Errorf("find out who is at the other end of the socket: %w", p.err)
	}
	name := strconv.Itoa(p.uid)
	if known, err := user.LookupId(name); err == nil {
		name = known.Username
	}
	if p.uid != 0 && p.uid != h.config.Owner {
		return access.Caller{Name: name}, failed(
			http.StatusForbidden,
			codeDenied,
			fmt.Sprintf(
				"%s may not use this socket: only the owner of the state directory and root may; use a token with the "+
					"https address",
				name,
			),
		)
	}
	return access.LocalUser(name), nil
}

func deniedError(d Denial) error {
	return &access.DeniedError{
		Caller:  d.Caller,
		UseCase: d.UseCase,
		Needs:   access.Permission(d.Needs),
		Fleet:   fleet.FleetAddress(d.Fleet),
	}
}
