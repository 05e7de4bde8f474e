//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

func TestAPluginDescribesItself(t *testing.T) {
	info, err := started(t, launch(t, "")).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := fleet.PluginType{Kind: fleet.KindString}
	want := Info{
		Schemas: fleet.PluginSchemas{
			Name:          "test",
			Version:       "1.2.3",
			IdentityNeeds: "region",
			Provider: fleet.PluginSchema{
				Attributes: []fleet.PluginAttribute{{Name: "region", Type: text, Required: true, Doc: "Where."}},
			},
			Instance: fleet.PluginSchema{
				Attributes: []fleet.PluginAttribute{
					{Name: "size", Type: fleet.PluginType{Kind: fleet.KindInt}, Immutable: true, Default: "2"},
					{Name: "labels", Type: fleet.PluginType{Kind: fleet.KindMap, Element: &text}},
				},
				Blocks: []fleet.PluginBlock{
					{
						Name:     "disk",
						Repeated: true,
						Schema:   fleet.PluginSchema{Attributes: []fleet.PluginAttribute{{Name: "path", Type: text}}},
					},
				},
			},
		},
		SDK:         "none",
		Idempotency: fleet.IdempotencyByTag,
		Ownership:   fleet.OwnershipNamed,
		ListSettle:  3 * time.Second,
		MaxBatch:    50,
		Raw:         info.Raw,
	}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
	cached, err := DecodeInfo(info.Raw)
	if err != nil {
		t.Fatal(err)
	}
	cached.Raw = info.Raw // protojson varies its spaces on purpose
	if diff := cmp.Diff(info, cached); diff != "" {
		t.Errorf("from the cache: %s", diff)
	}
	if facts := info.Facts(
		"acme",
	); facts.Account != "acme" || facts.Plugin != "test" || facts.MaxBatch != 50 ||
		facts.ListSettle != 3*time.Second {
		t.Errorf("facts %+v", facts)
	}
}

func TestComplaintsComeBackByBlock(t *testing.T) {
	validation, err := started(
		t,
		launch(t, ""),
	).Validate(t.Context(), secret.Resolved{Body: []byte(`{}`)},
		map[string][]byte{"a": []byte(`{"bad":1}`), "b": []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]fleet.PluginDiagnostic{
		"a": {{Summary: "the disk is bad", Path: []fleet.PathStep{{Name: "disk"}, {Index: 1}}}}, // no severity: an error
	}
	if diff := cmp.Diff(want, validation.Instances); diff != "" {
		t.Error(diff)
	}
}

func TestConfigureTellsTheAccount(t *testing.T) {
	account, diagnostics, err := started(t, launch(t, "")).Configure(t.Context(), Configuration{Installation: "acme"})
	if account != "account of acme" || len(diagnostics) != 0 || err != nil {
		t.Errorf("%q, %v, %v", account, diagnostics, err)
	}
}

func TestDrainTellsWhatIsInFlight(t *testing.T) {
	inFlight, err := started(t, launch(t, "")).Drain(t.Context(), 7*time.Second)
	if inFlight != 7 || err != nil {
		t.Errorf("%d, %v", inFlight, err)
	}
}

func TestAClassTellsThePersonWhatToDo(t *testing.T) {
	_, _, err := started(
		t,
		launch(t, ""),
	).Configure(t.Context(), Configuration{Provider: secret.Resolved{Body: []byte(`"auth"`)}})
	wantError(t, err, "ask provider test.here", "the key has expired (auth)", "renew the credentials")
	var call *CallError
	if !errors.As(err, &call) || call.Class != fleet.ErrorAuth {
		t.Errorf("%v has no auth class", err)
	}
}

func TestOnlyAnInspectionThatEndsWellIsComplete(t *testing.T) {
	i1 := fleet.Resource{ID: "i-1", Key: "k1", State: fleet.ResourceRunning}
	unclear := fleet.Resource{ID: "i-k", Key: "k", State: fleet.ResourceUnclear}
	for name, test := range map[string]struct {
		keys  []fleet.OperationID
		want  fleet.Inspection
		class fleet.ErrorClass
	}{
		"of everything": {nil,
			fleet.Inspection{Resources: []fleet.Resource{i1}, Complete: true}, ""},
		"with a state of the future": {[]fleet.OperationID{"k"},
			fleet.Inspection{Resources: []fleet.Resource{unclear}, Complete: true}, ""},
		"of an absent key, and of one without a request": {[]fleet.OperationID{"absent"},
			fleet.Inspection{Absent: []fleet.OperationID{"absent"}, Complete: true}, ""},
		"of a key that is absent and in flight": {[]fleet.OperationID{"in flight"},
			fleet.Inspection{InFlight: []fleet.OperationID{"in flight"}, Absent: []fleet.OperationID{}, Complete: true}, ""},
		"that fails after a page": {[]fleet.OperationID{"k", "fail"}, fleet.Inspection{Resources: []fleet.Resource{unclear}},
			fleet.ErrorRateLimit},
		"whose plugin crashes": {[]fleet.OperationID{"cut"}, fleet.Inspection{}, fleet.ErrorTransient},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := started(t, launch(t, "")).Inspect(t.Context(), test.keys)
			if diff := cmp.Diff(test.want, seen); diff != "" {
				t.Error(diff)
			}
			var call *CallError
			if errors.As(err, &call); (call == nil) != (test.class == "") || call != nil && call.Class != test.class {
				t.Errorf("error %v, want class %q", err, test.class)
			}
		})
	}
}

func TestAListThatTheDeadlineEndedIsNotComplete(t *testing.T) {
	t.Parallel() // it waits
	process := started(t, launch(t, ""))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	seen, err := process.Inspect(ctx, []fleet.OperationID{"k", "end when time is up", "l"})
	wantError(t, err, "list what it has", "gave up waiting")
	if seen.Complete || len(seen.Resources) != 1 {
		t.Errorf("%+v", seen)
	}
}

// provision calls with one item for each name; the keys are the names.
// An item called "wait for the end" gets it once the first answer is there.
func provision(t *testing.T, ctx context.Context, p *Process, names ...string) (map[string]ProvisionAnswer, error) {
	t.Helper()
	request := ProvisionRequest{Fleet: "f1", Address: "fleet.small", Platform: fleet.Platform{OS: "linux"}}
	for _, name := range names {
		request.Items = append(request.Items, ProvisionItem{Key: fleet.OperationID(name), Name: name})
	}
	answers := map[string]ProvisionAnswer{}
	err := p.Provision(ctx, request, func(a ProvisionAnswer) {
		if _, twice := answers[string(a.Key)]; twice {
			t.Errorf("%s is answered twice", a.Key)
		}
		answers[string(a.Key)] = a
		if len(answers) == 1 && slices.Contains(names, "wait for the end") {
			kill(t, pidOf(t, p), syscall.SIGKILL)
		}
	})
	if len(answers) != len(names) {
		t.Errorf("%d items and %d answers", len(names), len(answers))
	}
	return answers, err
}

func TestEveryItemIsAnsweredAndNoOutcomeIsGuessed(t *testing.T) {
	want := map[string]fleet.ProvisionOutcome{
		"created":                   fleet.ProvisionCreated,
		"existed":                   fleet.ProvisionExisted,
		"accepted":                  fleet.ProvisionAccepted,
		"not created":               fleet.ProvisionNotCreated,
		"unset":                     fleet.ProvisionUnknown,
		"from the future":           fleet.ProvisionUnknown,
		"created without resource":  fleet.ProvisionUnknown,
		"another key's resource":    fleet.ProvisionUnknown,
		"not created with resource": fleet.ProvisionUnknown,
		"missing":                   fleet.ProvisionUnknown,
		"for another key":           fleet.ProvisionUnknown,
		"twice":                     fleet.ProvisionCreated, // the first answer counts
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	answers, err := provision(t, t.Context(), started(t, launch(t, "")), names...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]fleet.ProvisionOutcome{}
	for name, a := range answers {
		got[name] = a.Outcome
		if !a.CallOver {
			t.Errorf("%s: the plugin ended the call and it isn't over", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if key := answers["existed"].Resource.Key; key != "existed" {
		t.Errorf("a resource without key got %q", key)
	}
	none := answers["not created"].Err
	if diff := cmp.Diff(
		&CallError{Class: fleet.ErrorCapacity, Message: "none left", Zone: "z1", RequestID: "r-9"},
		none,
	); diff != "" {
		t.Error(diff)
	}
}

func TestACallThatEndsBadlyLeavesItsOpenItemsUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		item  string
		class fleet.ErrorClass
		over  bool
		want  string
	}{
		"by the plugin, with a class":                     {"end with class", fleet.ErrorQuota, true, "raise the quota"},
		"by whomever, without a class":                    {"end without class", fleet.ErrorTransient, false, "who knows"},
		"by the plugin, with a code that only it can set": {"end as aborted", fleet.ErrorTransient, true, "who knows"},
		"by the end of the process":                       {"wait for the end", fleet.ErrorTransient, true, "signal: killed"},
		"by the deadline of the manager": {"hang", fleet.ErrorTransient, false,
			"gave up waiting: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			process := started(t, launch(t, ""))
			ctx := t.Context()
			if test.item == "hang" {
				limited, cancel := context.WithTimeout(ctx, 3*time.Second)
				defer cancel()
				ctx = limited
			}
			answers, err := provision(t, ctx, process, "created", test.item, "accepted")
			wantError(t, err, "ask provider test.here", "make 3 instances of fleet.small", test.want)
			if a := answers["created"]; a.Outcome != fleet.ProvisionCreated || !a.CallOver {
				t.Errorf("what was answered before is lost: %+v", a)
			}
			for _, open := range []string{test.item, "accepted"} {
				a := answers[open]
				if a.Outcome != fleet.ProvisionUnknown || a.CallOver != test.over || a.Err.Class != test.class {
					t.Errorf("%s: %+v (%v), want unknown, over %v, class %s", open, a, a.Err, test.over, test.class)
				}
			}
		})
	}
}

func TestACrashIsSeenAtOnceAndExplained(t *testing.T) {
	process := started(t, launch(t, ""))
	if _, err := provision(t, t.Context(), process, "crash"); err == nil {
		t.Error("no error")
	}
	if !process.hasExited() {
		t.Error("the call has returned, and its process lives")
	}
	eventually(t, "the cause shows the last lines", func() bool {
		cause := process.ExitCause()
		return strings.Contains(cause.Error(), "exit status 7") && strings.Contains(cause.Error(), "the cloud fell down")
	})
	answers, err := provision(t, t.Context(), process, "created")
	wantError(t, err, "exit status 7", "started again")
	if a := answers["created"]; a.Outcome != fleet.ProvisionNotSent || !a.CallOver {
		t.Errorf("%+v", a)
	}
}

func TestATokenIsInNoPrintedForm(t *testing.T) {
	item := ProvisionItem{Key: "k", Bootstrap: Bootstrap{Token: "s3cret"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, item); strings.Contains(text, "s3cret") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestEveryReferenceIsAnswered(t *testing.T) {
	var refs []TerminateRef
	for _, id := range []fleet.ProviderInstanceRef{"gone", "accepted", "refused", "unset", "missing", "by key",
		"wrong key"} {
		refs = append(refs, TerminateRef{ID: id, Key: fleet.OperationID("key of " + id)})
	}
	got := map[fleet.ProviderInstanceRef]fleet.TerminateOutcome{}
	err := started(t, launch(t, "")).Terminate(t.Context(), refs, true, func(a TerminateAnswer) {
		got[a.Ref.ID] = a.Outcome
		if !a.CallOver || a.Ref.Key != fleet.OperationID("key of "+a.Ref.ID) {
			t.Errorf("%+v", a)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[fleet.ProviderInstanceRef]fleet.TerminateOutcome{
		"gone":      fleet.TerminateGone,
		"accepted":  fleet.TerminateAccepted,
		"refused":   fleet.TerminateRefused,
		"unset":     fleet.TerminateUnknown,
		"missing":   fleet.TerminateUnknown,
		"by key":    fleet.TerminateGone,
		"wrong key": fleet.TerminateUnknown,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestACrashLeavesTheOpenReferencesUnknown(t *testing.T) {
	process := started(t, launch(t, ""))
	got := map[fleet.ProviderInstanceRef]TerminateAnswer{}
	err := process.Terminate(
		t.Context(),
		[]TerminateRef{{ID: "gone"}, {ID: "hang"}, {ID: "accepted"}},
		false,
		func(a TerminateAnswer) {
			if got[a.Ref.ID] = a; len(got) == 1 {
				kill(t, pidOf(t, process), syscall.SIGKILL)
			}
		},
	)
	wantError(t, err, "remove 3 resources", "signal: killed")
	if got["gone"].Outcome != fleet.TerminateGone || got["hang"].Outcome != fleet.TerminateUnknown ||
		got["accepted"].Outcome != fleet.TerminateUnknown ||
		!got["accepted"].CallOver {
		t.Errorf("%+v", got)
	}
}

func TestAnAnswerThatFitsTwoReferencesFitsNone(t *testing.T) {
	volumes := []TerminateRef{{ID: "v1", Key: "k"}, {ID: "v2", Key: "k"}}
	for said, want := range map[TerminateRef]int{{Key: "k"}: -1, {ID: "v2", Key: "k"}: 1, {ID: "v2"}: 1,
		{ID: "v3", Key: "k"}: -1, {ID: "v1", Key: "x"}: -1, {}: -1} {
		if got := matchRef(volumes, said); got != want {
			t.Errorf("%+v is %d, want %d", said, got, want)
		}
	}
}
