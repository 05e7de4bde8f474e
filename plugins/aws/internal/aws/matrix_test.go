package aws

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// Whatever becomes of the first request or its answer, the same key again gives
// exactly one machine, and at the end there is none.
func TestALostAnswerMakesExactlyOneMachine(t *testing.T) {
	const launching = "RunInstances"
	for _, c := range []struct {
		name   string
		fault  ec2sim.Fault
		delays ec2sim.Delays
		// made says whether the first request has its effect, proven whether its
		// answer says that it has none.
		made, proven bool
	}{
		{name: "the request is cut off before it has an effect", fault: ec2sim.Fault{}},
		{name: "the service fails before the effect", fault: ec2sim.Fault{Status: 500, Code: "InternalError"}},
		{name: "the request is refused for want of capacity",
			fault: ec2sim.Fault{Status: 500, Code: "InsufficientInstanceCapacity"}, proven: true},
		{name: "the request is throttled", fault: ec2sim.Fault{Status: 503, Code: "RequestLimitExceeded"}, proven: true},
		{name: "the answer is cut off after the effect", fault: ec2sim.Fault{After: true}, made: true},
		{name: "the service fails after the effect", fault: ec2sim.Fault{After: true, Status: 500, Code: "InternalError"},
			made: true},
		{name: "the answer is lost and the list lags", fault: ec2sim.Fault{After: true}, made: true,
			delays: ec2sim.Delays{Visible: 20 * time.Second, Flapping: 20 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, ec2sim.Options{Delays: c.delays})
			p := l.start(t)
			c.fault.Operation = launching
			l.Inject(c.fault)
			_, err := p.Provision(t.Context(), asked())
			if err == nil {
				t.Fatal("the answer was lost, and Provision says that it knows")
			}
			if claims := provider.IsNotCreated(err); claims != c.proven {
				t.Fatalf("claims that nothing was made: %v, proven: %v (%v)", claims, c.proven, err)
			}
			made, err := p.Provision(t.Context(), asked())
			if err != nil {
				t.Fatal(err)
			}
			l.Advance(time.Minute)
			instances, _ := list(t.Context(), t, p)
			if len(instances) != 1 || instances[0].ID != made.ID || instances[0].Key != key {
				t.Fatalf("wanted the one machine %s, got %v", made.ID, instances)
			}
			l.end(t, p, made.ID)
		})
	}
}

// A request that got no answer may still arrive. A refusal of the next proves
// nothing about it.
func TestARefusalAfterALostAnswerIsNoProofThatNothingExists(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.Inject(ec2sim.Fault{Operation: "RunInstances"})
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Code: "InsufficientInstanceCapacity"})
	for n := range 2 {
		if _, err := p.Provision(t.Context(), asked()); err == nil || provider.IsNotCreated(err) {
			t.Fatalf("try %d: wanted a failure that claims nothing, got %v", n+1, err)
		}
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{Key: key}); state != provider.TerminateUnknown || err == nil {
		t.Fatalf("the request may still arrive, and Terminate of its key says %v, %v", state, err)
	}
}

// An answer that comes after the caller has given up is one that was lost.
func TestAnAnswerThatComesTooLateMakesExactlyOneMachine(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	synctest.Test(t, func(t *testing.T) {
		p := l.start(t)
		l.Inject(ec2sim.Fault{Operation: "RunInstances", Late: 10 * time.Minute})
		if _, err := p.Provision(t.Context(), asked()); err == nil || provider.IsNotCreated(err) {
			t.Fatalf("wanted a failure that claims nothing, got %v", err)
		}
		made, err := p.Provision(t.Context(), asked())
		if err != nil || !made.Existed {
			t.Fatalf("wanted the machine that the first request made, got %+v, %v", made, err)
		}
		time.Sleep(20 * time.Minute) // until the late answer is there
		if instances, _ := list(t.Context(), t, p); len(instances) != 1 {
			t.Fatalf("wanted one machine, got %v", instances)
		}
		l.end(t, p, made.ID)
	})
}

func TestTheSameKeyForAnotherRequestIsAConflictAndNoProof(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: time.Minute}})
	p := l.start(t)
	if _, err := p.Provision(t.Context(), asked()); err != nil {
		t.Fatal(err)
	}
	other := asked()
	other.Instance.PublicAddress = true
	_, err := p.Provision(t.Context(), other)
	if err == nil || provider.IsNotCreated(err) || classOf(err) != provider.Conflict {
		t.Fatalf("wanted a conflict that claims nothing, got %v", err)
	}
	if calls := l.Calls("RunInstances"); calls != 2 {
		t.Fatalf("%d calls: a conflict isn't repeated", calls)
	}
}

// A list that breaks off in the middle is an error, and never a shorter list.
func TestAListThatBreaksOffIsIncomplete(t *testing.T) {
	for _, operation := range []string{"DescribeInstances", "DescribeVolumes", "DescribeNetworkInterfaces",
		"DescribeSpotInstanceRequests"} {
		for _, fault := range []ec2sim.Fault{{}, {Status: 503, Code: "RequestLimitExceeded"},
			{Status: 403, Code: "UnauthorizedOperation"}} {
			l := newLab(t, ec2sim.Options{LargestPage: 1})
			p := l.start(t)
			fault.Operation = operation
			l.Inject(fault)
			var failed error
			for _, err := range p.Inspect(t.Context(), provider.Query{}) {
				failed = err
			}
			if failed == nil {
				t.Errorf("%s failed with %q, and the list says that it is complete", operation, fault.Code)
			}
		}
	}
}

// A second page that is missing is the case that a list of one page hides.
func TestAListWhoseSecondPageFailsIsIncomplete(t *testing.T) {
	l := newLab(t, ec2sim.Options{LargestPage: 1})
	p := l.start(t)
	for _, k := range []string{key, "01jx0000000000000000000002"} {
		one := asked()
		one.Key = k
		if _, err := p.Provision(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	p.api = ec2From(t, &secondPageFails{l: l, operation: "Action=DescribeInstances"})
	var failed error
	for _, err := range p.Inspect(t.Context(), provider.Query{}) {
		failed = err
	}
	if failed == nil {
		t.Fatal("the second page of instances is missing, and the list says that it is complete")
	}
}

// secondPageFails cuts off each question for a further page.
type secondPageFails struct {
	l         *lab
	operation string
}

func (f *secondPageFails) RoundTrip(request *http.Request) (*http.Response, error) {
	content, err := contentOf(request)
	if err != nil {
		return nil, err
	}
	if asksForMore(content, f.operation) {
		return nil, context.DeadlineExceeded
	}
	return f.l.RoundTrip(request)
}

// contentOf reads what is sent, and leaves it to be sent.
func contentOf(request *http.Request) (string, error) {
	content, err := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(content))
	return string(content), err
}
