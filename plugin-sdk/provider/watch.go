package provider

import (
	"context"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Watcher is implemented by a provider whose infrastructure announces that it takes
// instances away. Plugin.Events says that it is, since the host asks before there is
// a provider.
type Watcher interface {
	// Watch yields notices until ctx ends, beginning with all that are in force: the host
	// may have forgotten them. The same notice may come again, with the same ID.
	// It may end, with an error or without: the host watches again, later each
	// time. Yielding waits while the host is busy.
	Watch(ctx context.Context) iter.Seq2[Notice, error]
}

// NoticeKind is what the infrastructure announces.
type NoticeKind int

// The kinds of Notice.
const (
	// StateChange is a hint that something about an instance has changed: the host
	// inspects soon, and believes what that shows.
	StateChange = NoticeKind(providerpb.WatchResponse_KIND_STATE_CHANGE)
	// Interruption: the instance is taken away at the deadline, whatever runs on it.
	// The host drains it at once; at the deadline its jobs are run elsewhere.
	Interruption = NoticeKind(providerpb.WatchResponse_KIND_INTERRUPTION)
	// Rebalance: it may be taken away sooner than others. The host drains it, and
	// lets its jobs finish.
	Rebalance = NoticeKind(providerpb.WatchResponse_KIND_REBALANCE)
	// Maintenance: it will be stopped, restarted or moved. The host drains it, and
	// lets its jobs finish.
	Maintenance = NoticeKind(providerpb.WatchResponse_KIND_MAINTENANCE)
)

// Notice is one announcement about one instance.
type Notice struct {
	// ID names the event, so that hearing of it twice is hearing of it once.
	ID   string
	Kind NoticeKind
	// Instance is the Resource.ID.
	Instance string
	// Deadline is when it happens; zero: not known.
	Deadline time.Time
	// Detail is the infrastructure's own word, one line for a person.
	Detail string
}

// events speaks the wire of the service Events for a plugin.
type events struct {
	providerpb.UnimplementedEventsServer
	watcher func() (Watcher, error)
}

// Watch streams the provider's notices until it ends or the host does.
func (e *events) Watch(_ *providerpb.WatchRequest, stream grpc.ServerStreamingServer[providerpb.WatchResponse]) error {
	watcher, err := e.watcher()
	if err != nil {
		return err
	}
	for notice, err := range watcher.Watch(stream.Context()) {
		if err != nil {
			return statusError(codes.Unavailable, err)
		}
		wire := &providerpb.WatchResponse{
			EventId: notice.ID, Kind: providerpb.WatchResponse_Kind(notice.Kind), InstanceId: notice.Instance,
			Detail: notice.Detail,
		}
		if !notice.Deadline.IsZero() {
			wire.Deadline = timestamppb.New(notice.Deadline)
		}
		if err := stream.Send(wire); err != nil {
			return err
		}
	}
	return nil
}

// watcher is the configured provider as a Watcher.
func (s *server[C, I]) watcher() (Watcher, error) {
	configured, err := s.provider()
	if err != nil {
		return nil, err
	}
	watcher, ok := configured.(Watcher)
	if !ok { // checked when it was configured
		return nil, statusError(codes.Unimplemented, internalError("the provider watches nothing"))
	}
	return watcher, nil
}

// checkWatcher holds the plugin to its own word.
func (p Plugin[C, I]) checkWatcher(configured Provider[I]) error {
	switch _, watches := configured.(Watcher); {
	case watches && !p.Events:
		return internalError("the provider of the plugin is a Watcher, and the plugin doesn't say so: set Plugin.Events")
	case !watches && p.Events:
		return internalError("the plugin sets Plugin.Events, and its provider is no Watcher: add the method Watch")
	}
	return nil
}
