package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// listing yields the resources and then the error, if there is one.
func listing(resources []Resource, err error) func(context.Context, Query) iter.Seq2[Resource, error] {
	return func(context.Context, Query) iter.Seq2[Resource, error] {
		return func(yield func(Resource, error) bool) {
			for _, resource := range resources {
				if !yield(resource, nil) {
					return
				}
			}
			if err != nil {
				yield(Resource{}, err)
			}
		}
	}
}

func TestLongListComesInPages(t *testing.T) {
	resources := make([]Resource, 2*providerpb.MaxPage+1)
	for i := range resources {
		resources[i] = Resource{ID: fmt.Sprint(i), Key: fmt.Sprint("k", i), State: Running, Created: time.Unix(1700000000, 0)}
	}
	host := start(t, &scripted{inspect: listing(resources, nil)})
	got := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{}))
	if got.err != nil {
		t.Fatal(got.err)
	}
	var sizes []int
	for _, page := range got.messages {
		sizes = append(sizes, len(page.Resources))
	}
	if want := []int{providerpb.MaxPage, providerpb.MaxPage, 1}; !slices.Equal(sizes, want) {
		t.Errorf("pages of %v, wanted %v", sizes, want)
	}
}

func TestIncompleteListEndsInAClassifiedError(t *testing.T) {
	host := start(t, &scripted{inspect: listing([]Resource{{ID: "i-1", Key: "k1"}},
		&Error{Class: RateLimit, RetryAfter: time.Minute, Err: errors.New("slow down")})})
	got := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k2"}}))
	if got.err == nil {
		t.Fatal("the list looks complete")
	}
	if detail := errorDetail(t, got.err); detail.Class != providerpb.Error_CLASS_RATE_LIMIT ||
		detail.RetryAfter.AsDuration() != time.Minute {
		t.Errorf("got %v", detail)
	}
	for _, message := range got.messages {
		if len(message.AbsentKeys) > 0 {
			t.Errorf("an incomplete list claims that %v are absent", message.AbsentKeys)
		}
	}
}

func TestPanickingListIsIncomplete(t *testing.T) {
	host := start(t, &scripted{inspect: func(context.Context, Query) iter.Seq2[Resource, error] {
		return func(yield func(Resource, error) bool) { panic("oh") }
	}})
	got := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{}))
	if status.Code(got.err) != codes.Internal || errorDetail(t, got.err).Class != providerpb.Error_CLASS_INTERNAL {
		t.Errorf("got %v", got.err)
	}
}

func TestKeysAskedForAreFoundOrAbsent(t *testing.T) {
	host := start(t, &scripted{inspect: listing([]Resource{
		{ID: "i-1", Key: "k1", State: Running},
		{ID: "i-2", Key: "k2", State: Running},
		{ID: "v-2", BelongsTo: "i-2", Kind: "volume"},
	}, nil)})
	for name, test := range map[string]struct {
		request *providerpb.InspectRequest
		ids     []string
		absent  []string
	}{
		"everything": {&providerpb.InspectRequest{}, []string{"i-1", "i-2", "v-2"}, nil},
		"by key":     {&providerpb.InspectRequest{Keys: []string{"k1"}}, []string{"i-1"}, nil},
		"a key that isn't there": {&providerpb.InspectRequest{Keys: []string{"k1", "k9"}}, []string{"i-1"},
			[]string{"k9"}},
		"by id, with what belongs to it": {&providerpb.InspectRequest{Ids: []string{"i-2"}}, []string{"i-2", "v-2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := receive(host.Inspect(t.Context(), test.request))
			if got.err != nil || len(got.messages) != 1 {
				t.Fatalf("got %v", got)
			}
			var ids []string
			for _, resource := range got.messages[0].Resources {
				ids = append(ids, resource.Id)
			}
			if !slices.Equal(ids, test.ids) || !slices.Equal(got.messages[0].AbsentKeys, test.absent) {
				t.Errorf("got %v, absent %v; wanted %v, absent %v", ids, got.messages[0].AbsentKeys, test.ids, test.absent)
			}
		})
	}
}

// The dangerous case: the create begins after the provider's list was taken and
// ends before the inspection does. Neither a look before nor a look after the
// list sees the call, and the list doesn't have its result.
func TestCreateWithinAnInspectionIsInFlightAndNotAbsent(t *testing.T) {
	listed, finish := make(chan struct{}), make(chan struct{})
	host := start(t, &scripted{
		inspect: func(context.Context, Query) iter.Seq2[Resource, error] {
			return func(func(Resource, error) bool) {
				close(listed)
				<-finish
			}
		},
		provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
			return Resource{ID: "i-1"}, nil
		},
	})
	looks := make(chan received[providerpb.InspectResponse], 1)
	go func() {
		looks <- receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1", "k2"}}))
	}()
	within(t, listed, "the list")
	wantOutcome(t, host.provision(t, t.Context(), "k1")["k1"], created, noClass)
	close(finish)
	look := within(t, looks, "the inspection")
	if look.err != nil {
		t.Fatal(look.err)
	}
	last := look.messages[0]
	if !slices.Equal(last.InFlightKeys, []string{"k1"}) || !slices.Equal(last.AbsentKeys, []string{"k2"}) {
		t.Errorf("in flight %v, absent %v", last.InFlightKeys, last.AbsentKeys)
	}
	if len(host.flights.watches) != 0 {
		t.Error("the watch is still open")
	}
}

func TestCreateEndingDuringInspectionIsInFlight(t *testing.T) {
	entered, release, listed, finish := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	host := start(t, &scripted{
		inspect: func(context.Context, Query) iter.Seq2[Resource, error] {
			return func(func(Resource, error) bool) { close(listed); <-finish }
		},
		provision: func(context.Context, ProvisionRequest[testInstance]) (Resource, error) {
			close(entered)
			<-release
			return Resource{ID: "i-1"}, nil
		},
	})
	answers := make(chan received[providerpb.ProvisionResponse], 1)
	looks := make(chan received[providerpb.InspectResponse], 1)
	go func() { answers <- receive(host.Provision(t.Context(), batchOf("k1"))) }()
	within(t, entered, "the create")
	go func() { looks <- receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1"}})) }()
	within(t, listed, "the list")
	close(release)
	within(t, answers, "the create's answer")
	close(finish)
	if last := within(t, looks, "the inspection").messages[0]; !slices.Equal(last.InFlightKeys, []string{"k1"}) ||
		len(last.AbsentKeys) != 0 {
		t.Errorf("in flight %v, absent %v", last.InFlightKeys, last.AbsentKeys)
	}
}
