package aws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// listener hears what a watch tells.
type listener struct {
	*lab
	cloud *cloud
	log   bytes.Buffer
}

// listening runs a test in synthetic time, with an account that has a queue.
func listening(t *testing.T, options ec2sim.Options, test func(*testing.T, *listener)) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{lab: newLab(t, options)}
		l.cloud = l.startWith(t, settings.Config{Queue: l.AddQueue("interruptions")},
			slog.New(slog.NewTextHandler(&l.log, nil)))
		test(t, l)
	})
}

// hear watches for as long as it takes, and gives what was told, with the error that
// ended it. After the most notices it listens no more.
func (l *listener) hear(t *testing.T, most int, patience time.Duration) (told []provider.Notice, failed error) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	for notice, err := range l.cloud.Watch(ctx) {
		if err != nil {
			return told, err
		}
		if told = append(told, notice); len(told) == most {
			break
		}
	}
	return told, nil
}

// empty wants no message to be left, hidden or not.
func (l *listener) empty(t *testing.T) {
	t.Helper()
	l.Advance(hidden)
	messages, err := l.cloud.queue.receive(t.Context())
	if err != nil || len(messages) > 0 {
		t.Errorf("the queue still has %d messages, %v", len(messages), err)
	}
}

// spotMachine is one that may be taken away, whose start has been told of.
func (l *listener) spotMachine(t *testing.T, key string) string {
	t.Helper()
	one := asked()
	one.Key, one.Offers = key, []provider.Offer{{Zone: "us-east-1a", MachineType: "c7i.large", Lifetime: "preemptible"}}
	made, err := l.cloud.Provision(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func kindsOf(told []provider.Notice) (kinds []provider.NoticeKind) {
	for _, one := range told {
		kinds = append(kinds, one.Kind)
	}
	return kinds
}

func must(t *testing.T, failures ...error) {
	t.Helper()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheQueueSaysOfOurMachinesIsToldAndThenDeleted(t *testing.T) {
	listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
		id, begin := l.spotMachine(t, key), time.Now()
		retired := begin.Add(48 * time.Hour)
		must(t, l.Rebalance(id), l.Retire(id, retired))
		told, err := l.hear(t, 0, time.Minute)
		if want := []provider.NoticeKind{provider.StateChange, provider.Rebalance, provider.Maintenance}; err != nil ||
			!slices.Equal(kindsOf(told), want) {
			t.Fatalf("told %+v, %v, wanted the kinds %v", told, err, want)
		}
		if !told[2].Deadline.Equal(retired) || !told[1].Deadline.IsZero() {
			t.Errorf("the deadlines are %s and %s", told[1].Deadline, told[2].Deadline)
		}
		for _, one := range told {
			if one.Instance != id || one.ID == "" {
				t.Errorf("it tells of %+v, wanted %s", one, id)
			}
		}
		l.empty(t)
	})
}

// The warning is what the two minutes count from, however late it is read.
func TestInterruptionCarriesItsTime(t *testing.T) {
	listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
		id := l.spotMachine(t, key)
		at := time.Now()
		must(t, l.Interrupt(id))
		time.Sleep(time.Minute)
		told, err := l.hear(t, 0, time.Second)
		at = at.Add(2 * time.Minute).Truncate(time.Second)
		told = slices.DeleteFunc(told, func(n provider.Notice) bool { return n.Kind != provider.Interruption })
		if err != nil || len(told) != 2 { // what stands, and the message
			t.Fatalf("told %+v, %v, wanted two interruptions", told, err)
		}
		for _, one := range told {
			if one.Instance != id || !one.Deadline.Equal(at) {
				t.Errorf("told %+v, wanted %s at %s", one, id, at)
			}
		}
	})
}

// The manager that was told may have died before it knew.
func TestAnInterruptionThatWasToldStandsForTheNextWatch(t *testing.T) {
	listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
		id := l.spotMachine(t, key)
		must(t, l.Interrupt(id))
		for range 2 {
			told, err := l.hear(t, 0, time.Second)
			if err != nil || !slices.ContainsFunc(told, func(n provider.Notice) bool {
				return n.Kind == provider.Interruption && n.Instance == id
			}) {
				t.Fatalf("told %+v, %v, wanted the interruption of %s", told, err, id)
			}
		}
		l.empty(t)
	})
}

func TestAMessageThatNobodyTookComesAgain(t *testing.T) {
	listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
		id := l.spotMachine(t, key)
		must(t, l.Rebalance(id), l.Retire(id, time.Now()))
		first, err := l.hear(t, 2, time.Minute) // the second is still being taken when the listener goes
		if err != nil || len(first) != 2 {
			t.Fatalf("told %+v, %v", first, err)
		}
		l.Advance(hidden)
		second, err := l.hear(t, 0, time.Minute)
		if want := []provider.NoticeKind{provider.Rebalance, provider.Maintenance}; err != nil ||
			!slices.Equal(kindsOf(second), want) {
			t.Fatalf("told %+v, %v, wanted the kinds %v", second, err, want)
		}
		if second[0] != first[1] {
			t.Errorf("the same message is told as %+v and as %+v", first[1], second[0])
		}
		l.empty(t)
	})
}

func TestAMessageThatCannotBeDeletedIsToldAgainUnderTheSameName(t *testing.T) {
	listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
		l.Inject(ec2sim.Fault{Operation: "DeleteMessageBatch", Status: 403, Code: "AccessDenied"})
		must(t, l.Rebalance(l.spotMachine(t, key)))
		told, err := l.hear(t, 0, 2*hidden)
		if err != nil || len(told) != 4 || told[0].ID != told[2].ID || told[1].ID != told[3].ID {
			t.Fatalf("told %+v, %v, wanted two notices twice", told, err)
		}
		if !strings.Contains(l.log.String(), "AccessDenied") {
			t.Errorf("the log doesn't say why: %s", &l.log)
		}
		l.empty(t)
	})
}

func TestForeignAndMalformedMessagesAreDropped(t *testing.T) {
	listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
		foreign := more(t, l.cloud, asked(), map[string]string{"Name": "database"})
		one := asked()
		copied := more(t, l.cloud, asked(), l.cloud.tagsOf(&one))
		for range 30 { // more than one reading takes
			l.SendMessage("hello")
		}
		l.SendMessage(
			fmt.Sprintf(`{"id":"e","detail-type":"EC2 Instance Rebalance Recommendation","time":%q,"detail":{"instance-id":"i-0ffffffffffffffff"}}`,
				time.Now().Add(-listSettle).UTC().Format(time.RFC3339)))
		id := l.spotMachine(t, key)
		must(t, l.Rebalance(id), l.Rebalance(foreign), l.Rebalance(copied))
		told, err := l.hear(t, 0, time.Minute)
		if want := []provider.NoticeKind{provider.StateChange, provider.Rebalance}; err != nil ||
			!slices.Equal(kindsOf(told), want) || told[1].Instance != id {
			t.Fatalf("told %+v, %v, wanted %v of %s", told, err, want, id)
		}
		for _, name := range []string{foreign, copied, "i-0ffffffffffffffff", "not an EventBridge event"} {
			if !strings.Contains(l.log.String(), name) {
				t.Errorf("the log doesn't name %q", name)
			}
		}
		l.empty(t)
	})
}

// A spot machine can be taken away before the lists show it.
func TestAMessageAboutAMachineThatIsNotListedYetWaitsForIt(t *testing.T) {
	listening(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: 20 * time.Second}}, func(t *testing.T, l *listener) {
		id := l.spotMachine(t, key)
		must(t, l.Rebalance(id))
		told, err := l.hear(t, 0, listSettle)
		if err != nil || !slices.ContainsFunc(told, func(n provider.Notice) bool {
			return n.Kind == provider.Rebalance && n.Instance == id
		}) {
			t.Fatalf("told %+v, %v, wanted the recommendation for %s", told, err, id)
		}
		l.empty(t)
	})
}

func TestAQueueThatIsLostEndsTheWatchAndLosesNoMessage(t *testing.T) {
	for name, corrupt := range map[string]func(*listener){
		"the queue can't be reached": func(l *listener) { l.Inject(ec2sim.Fault{Operation: "ReceiveMessage"}) },
		"the answer of the queue is lost": func(l *listener) {
			l.Inject(ec2sim.Fault{Operation: "ReceiveMessage", After: true})
		},
		"the queue fails": func(l *listener) {
			l.Inject(ec2sim.Fault{Operation: "ReceiveMessage", Status: 503, Code: "ServiceUnavailable"})
		},
		"the owners of the machines can't be read": func(l *listener) {
			l.Inject(ec2sim.Fault{Operation: "DescribeInstances", Status: 503, Code: "RequestLimitExceeded"})
		},
		"the notices in force can't be read": func(l *listener) {
			l.Inject(ec2sim.Fault{Operation: "DescribeSpotInstanceRequests", Status: 500, Code: "InternalError"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			listening(t, ec2sim.Options{}, func(t *testing.T, l *listener) {
				id := l.spotMachine(t, key)
				must(t, l.Rebalance(id))
				corrupt(l)
				if told, err := l.hear(t, 0, time.Minute); err == nil || len(told) > 0 {
					t.Fatalf("got %+v, and the watch continues", told)
				}
				l.Advance(hidden)
				if told, err := l.hear(t, 0, time.Minute); err != nil || len(told) != 2 || told[1].Instance != id {
					t.Fatalf("then told %+v, %v, wanted both messages of %s", told, err, id)
				}
				l.empty(t)
			})
		})
	}
}

func TestWithoutAQueueNothingIsToldAndNothingAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{lab: newLab(t, ec2sim.Options{})}
		l.cloud = l.start(t)
		must(t, l.Interrupt(l.spotMachine(t, key)))
		if told, err := l.hear(t, 0, time.Hour); err != nil || len(told) > 0 {
			t.Errorf("told %+v, %v", told, err)
		}
		if calls := l.Calls("ReceiveMessage") + l.Calls("DescribeSpotInstanceRequests"); calls > 0 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestAQueueThatIsNotThereIsAFaultOfTheBlock(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	start := func() error {
		_, err := l.surroundings().newCloud(t.Context(), settings.Config{Region: "us-east-1", CallTimeout: time.Minute,
			Queue: "https://sqs.us-east-1.amazonaws.com/111122223333/nothing"},
			provider.Environment{Installation: "test", Logger: slog.New(slog.DiscardHandler)})
		return err
	}
	var fault provider.Diagnostic
	if err := start(); !errors.As(err, &fault) || fault.Path.String() != "interruption_queue" {
		t.Errorf("wanted a complaint at interruption_queue, got %v", err)
	}
	l.Inject(ec2sim.Fault{Operation: "GetQueueAttributes", Status: 503, Code: "ServiceUnavailable"})
	if err := start(); err != nil {
		t.Errorf("a queue that fails for a while keeps the plugin from starting: %v", err)
	}
}

// The host waits a minute for a plugin that starts.
func TestAQueueThatHangsKeepsNoPluginFromStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, ec2sim.Options{})
		l.Inject(ec2sim.Fault{Operation: "GetQueueAttributes", Late: time.Hour})
		begin := time.Now()
		l.startWith(t, settings.Config{Queue: l.AddQueue("interruptions")}, slog.New(slog.DiscardHandler))
		if took := time.Since(begin); took > besides+time.Second {
			t.Errorf("it starts after %s", took)
		}
	})
}
