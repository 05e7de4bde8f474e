//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// announcer is the Events service of the test plugin.
type announcer struct {
	providerpb.UnimplementedEventsServer
}

func (announcer) Watch(_ *providerpb.WatchRequest, stream grpc.ServerStreamingServer[providerpb.WatchResponse]) error {
	deadline := timestamppb.New(time.Date(2026, 11, 29, 12, 2, 0, 0, time.UTC))
	for _, w := range []*providerpb.WatchResponse{
		{EventId: "e1", Kind: providerpb.WatchResponse_KIND_INTERRUPTION, InstanceId: "i-1", Deadline: deadline,
			Detail: "spot\x1b[2J " + strings.Repeat("x", 1000)},
		{EventId: "e2", Kind: 99, InstanceId: "i-2"},
		{Kind: providerpb.WatchResponse_KIND_REBALANCE, InstanceId: "i-3"},
	} {
		if err := stream.Send(w); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

func TestWhatAPluginAnnouncesComesCleanedAndBounded(t *testing.T) {
	p := started(t, launch(t, "announces"))
	ctx, cancel := context.WithCancel(t.Context())
	var got []Notice
	err := p.Watch(ctx, func(n Notice) {
		if got = append(got, n); len(got) == 3 {
			cancel()
		}
	})
	if err == nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	first := got[0].Notice
	if got[0].Instance != "i-1" || first.ID != "e1" || first.Kind != fleet.NoticeInterruption ||
		!first.Deadline.Equal(time.Date(2026, 11, 29, 12, 2, 0, 0, time.UTC)) ||
		strings.Contains(first.Detail, "\x1b") ||
		len(first.Detail) > maxNoticeDetail {
		t.Errorf("the first is %+v", got[0])
	}
	if got[1].Notice != (fleet.Notice{}) || got[1].Instance != "i-2" {
		t.Errorf("a kind of a newer plugin is %+v, want a hint", got[1])
	}
	if got[2].Notice.ID == "" || got[2].Notice.Kind != fleet.NoticeRebalance {
		t.Errorf("one without an id is %+v", got[2])
	}
}

func interruptionOf(instance, id string) Notice {
	return Notice{
		Instance: fleet.ProviderInstanceRef(instance),
		Notice:   fleet.Notice{ID: id, Kind: fleet.NoticeInterruption},
	}
}

// announcing is a process whose stream is the function.
func announcing(watch func(context.Context, func(Notice)) error) func() (*fakeProcess, error) {
	return func() (*fakeProcess, error) {
		p := newFakeProcess()
		p.watch = watch
		return p, nil
	}
}

func TestEndedStreamIsRestartedWithBackoffAndDeduplicated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := 0
		b := supervise(t, announcing(func(_ context.Context, handle func(Notice)) error {
			streams++
			handle(interruptionOf("i-1", "e1"))
			handle(interruptionOf("i-1", fmt.Sprint("e", 1+min(streams, 2))))
			return errors.New("the queue is gone")
		}))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if streams < 8 || streams > 16 {
			t.Errorf("%d streams in 10 minutes", streams)
		}
		if len(b.noticed) != 3 {
			t.Errorf("%d notices were handed on, want e1, e2 and e3 once: %+v", len(b.noticed), b.noticed)
		}
	})
}

func TestTheStreamEndsWithItsProcessAndTheNextOneHasItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams, open := 0, 0
		b := supervise(t, announcing(func(ctx context.Context, handle func(Notice)) error {
			streams, open = streams+1, open+1
			handle(interruptionOf("i-1", "e1")) // what stands is told again
			<-ctx.Done()
			open--
			return ctx.Err()
		}))
		b.current.end()
		time.Sleep(time.Minute)
		synctest.Wait()
		if b.starts != 2 || streams != 2 || open != 1 || len(b.noticed) != 1 {
			t.Errorf("%d processes, %d streams of which %d are open, %d notices", b.starts, streams, open, len(b.noticed))
		}
	})
}

func TestAPluginThatFloodsIsSlowedDownAndItsMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		b := supervise(t, announcing(func(ctx context.Context, handle func(Notice)) error {
			for ; ctx.Err() == nil; sent++ {
				handle(Notice{Instance: "i"}) // a hint with each of them
				handle(interruptionOf("i-"+fmt.Sprint(sent), fmt.Sprint(sent)))
			}
			return ctx.Err()
		}))
		time.Sleep(time.Minute)
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		if most := noticeBurst + 61*noticesASecond + 130; len(b.noticed) > most ||
			len(b.noticed) < noticeBurst+50*noticesASecond {
			t.Errorf("%d were handed on in a minute, want at most %d", len(b.noticed), most)
		}
		if sent > len(b.noticed)+10 {
			t.Errorf("the plugin got rid of %d, and %d were handed on: the rest is kept somewhere", sent, len(b.noticed))
		}
		hints := 0
		for _, n := range b.noticed {
			if n.Notice.Kind == "" {
				hints++
			}
		}
		if hints < 50 || hints > 125 {
			t.Errorf("%d hints in a minute", hints)
		}
		if known := len(b.announcements.known); known > mostKnown || len(b.announcements.order) > mostKnown {
			t.Errorf("%d events are remembered", known)
		}
	})
}

func TestAPluginThatDoesNotNameEventsIsNeverAsked(t *testing.T) {
	info := testInfo()
	if got, err := infoOf(info); err != nil || got.Events() {
		t.Errorf("without the service: %v, %v", got.Events(), err)
	}
	info.Services = []string{providerpb.EventsService}
	if got, err := infoOf(info); err != nil || !got.Events() {
		t.Errorf("with the service: %v, %v", got.Events(), err)
	}
	synctest.Test(t, func(t *testing.T) {
		asked := false
		process := newFakeProcess()
		process.watch = func(context.Context, func(Notice)) error { asked = true; return nil }
		s := NewSupervisor(Supervision{Launch: Launch{Plugin: "test", Provider: "test.here"}})
		s.start = func(context.Context) (supervised, error) { return process, nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		time.Sleep(time.Minute)
		cancel()
		<-done
		if asked {
			t.Error("it was asked")
		}
	})
}

func TestANoticeThatWaitsWhenItsProcessEndsIsHeardOfTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := supervise(t, announcing(func(ctx context.Context, handle func(Notice)) error {
			for n := range noticeBurst + 1 {
				handle(interruptionOf("i-"+fmt.Sprint(n), "e"))
			}
			<-ctx.Done()
			return ctx.Err()
		}))
		b.current.end() // the last of them waits for its turn
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(b.noticed) != noticeBurst+1 {
			t.Errorf("%d notices were handed on, want %d", len(b.noticed), noticeBurst+1)
		}
	})
}
