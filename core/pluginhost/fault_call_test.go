//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/logbuffer"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestAListOfAHundredThousandIsTakenWhole(t *testing.T) {
	seen, err := started(t, launch(t, "")).Inspect(t.Context(), []fleet.OperationID{"many"})
	if err != nil || !seen.Complete || len(seen.Resources) != manyResources {
		t.Errorf("%d resources, complete %v, %v", len(seen.Resources), seen.Complete, err)
	}
}

// go-plugin's server takes 4 MiB, and so do gRPC's clients by default.
func TestLargeMessagesPassAndTooLargeOnesFail(t *testing.T) {
	process := started(t, launch(t, ""))
	answers := 0
	request := ProvisionRequest{
		Fleet:    "fleet.small",
		Instance: make([]byte, 5<<20),
		Items:    []ProvisionItem{{Key: "k", Name: "created"}},
	}
	if err := process.Provision(t.Context(), request, func(a ProvisionAnswer) {
		if answers++; a.Outcome != fleet.ProvisionCreated {
			t.Errorf("%+v", a)
		}
	}); err != nil || answers != 1 {
		t.Errorf("%d answers, %v", answers, err)
	}
	seen, err := process.Inspect(t.Context(), []fleet.OperationID{"large"})
	if err != nil || !seen.Complete {
		t.Errorf("complete %v, %v", seen.Complete, err)
	}
	seen, err = process.Inspect(t.Context(), []fleet.OperationID{"too large"})
	wantError(t, err, "received message larger than max")
	if seen.Complete {
		t.Error("a list without its page is called complete")
	}
	if _, err := process.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerWithoutEndIsBrokenOffAndNotComplete(t *testing.T) {
	process := started(t, launch(t, ""))
	for _, key := range []fleet.OperationID{"without end", "empty without end"} {
		seen, err := process.Inspect(t.Context(), []fleet.OperationID{key})
		wantError(t, err, "answers without end: more than 128 MiB", "report this to the plugin's author")
		var call *CallError
		if seen.Complete || !errors.As(err, &call) || call.Class != fleet.ErrorInternal {
			t.Errorf("%s: complete %v, %v", key, seen.Complete, err)
		}
	}
	if _, err := process.Inspect(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestAnswersForOtherKeysWithoutEndEndTheCallAndFillNoLog(t *testing.T) {
	var log logbuffer.Buffer
	l := launch(t, "")
	l.Logger = log.Logger()
	answers, err := provision(t, t.Context(), started(t, l), "created", "for other keys without end")
	wantError(t, err, "answers without end")
	if a := answers["created"]; a.Outcome != fleet.ProvisionCreated {
		t.Errorf("what was answered before is lost: %+v", a)
	}
	// The plugin may still be at work: only our wait has ended.
	if a := answers["for other keys without end"]; a.Outcome != fleet.ProvisionUnknown || a.CallOver ||
		a.Err.Class != fleet.ErrorInternal {
		t.Errorf("%+v (%v)", a, a.Err)
	}
	if told := strings.Count(log.String(), "a key that isn't open"); told != 2 {
		t.Errorf("it is told %d times, want the first and the sum", told)
	}
}

func TestAHandlerThatIgnoresItsDeadlineHoldsNobodyUp(t *testing.T) {
	t.Parallel() // it waits
	process := started(t, launch(t, ""))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	answers, err := provision(t, ctx, process, "created", "ignores its deadline")
	wantError(t, err, "gave up waiting: context deadline exceeded")
	if a := answers["ignores its deadline"]; a.Outcome != fleet.ProvisionUnknown || a.CallOver {
		t.Errorf("%+v", a)
	}
	if _, err := process.Inspect(t.Context(), nil); err != nil {
		t.Errorf("other calls: %v", err)
	}
}

func TestAnErrorOfAPluginIsBoundedAndSteersNoTerminal(t *testing.T) {
	answers, err := provision(t, t.Context(), started(t, launch(t, "")), "steer the terminal")
	if err != nil {
		t.Fatal(err)
	}
	text := answers["steer the terminal"].Err.Error()
	if len(text) > maxErrorMessage+3*maxErrorName+300 || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%d bytes: %.100q", len(text), text)
	}
}

// hashicorp/go-plugin#88 and others: a broker is a second way into the host.
func TestAPluginCannotReachTheHostThroughABroker(t *testing.T) {
	process := started(t, launch(t, ""))
	_, err := withoutBrokerStream(t.Context(), process)
	wantError(t, err, "the host has no broker")
}

func TestAPluginHasItsOwnStandardInputAndGroup(t *testing.T) {
	account, _, err := started(
		t,
		launch(t, ""),
	).Configure(t.Context(), Configuration{Provider: secret.Resolved{Body: []byte(`"streams"`)}})
	if want := "pipe true, leads its group true"; err != nil || account != want {
		t.Errorf("%q, %v, want %q", account, err, want)
	}
}

// What leaves the group on purpose, as an agent of the provider "local" does, is
// the plugin's business; that it holds pipes and lock open mustn't hold the host.
func TestAChildThatKeepsThePipesOpenHoldsNobodyUp(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *Process){
		"when the plugin is stopped": func(t *testing.T, p *Process) {
			if err := p.Stop(5 * time.Second); err != nil {
				t.Error(err)
			}
		},
		"when the plugin crashes": func(t *testing.T, p *Process) { kill(t, pidOf(t, p), syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			l := launch(t, "")
			process := started(t, l)
			account, _, err := process.Configure(
				t.Context(),
				Configuration{Provider: secret.Resolved{Body: []byte(`"runaway"`)}},
			)
			if err != nil {
				t.Fatal(err)
			}
			child := numberOf(t, account)
			t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
			end(t, process)
			exitsWithin(t, process, 5*time.Second)
			select {
			case <-process.gone:
			case <-time.After(stopLimit):
				t.Fatal("the host waits for an unrelated process")
			}
			if !processLives(child) {
				t.Error("what left the group was ended")
			}
			wantEmpty(t, l.RunDir)
		})
	}
}

func TestAPluginThatStandsStillWhileItIsStoppedIsKilled(t *testing.T) {
	l := launch(t, "stays")
	process := started(t, l)
	pid := pidOf(t, process)
	stopped := make(chan error, 1)
	go func() { stopped <- process.Stop(time.Second) }()
	eventually(t, "the stop has begun", process.stopping.Load)
	kill(t, pid, syscall.SIGSTOP)
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(stopLimit):
		t.Fatal("the stop does not end")
	}
	if processLives(pid) {
		t.Error("the process lives")
	}
}

// hashicorp/go-plugin#119: a plugin that was killed leaves its socket's file.
func TestTheSocketOfACrashedPluginIsRemoved(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	if len(sockets(t, l.RunDir)) != 1 {
		t.Fatalf("sockets %v, want one", sockets(t, l.RunDir))
	}
	kill(t, pidOf(t, process), syscall.SIGKILL)
	<-process.gone
	wantEmpty(t, l.RunDir)
}

func TestTheHostsLogLevelIsPassedOn(t *testing.T) {
	var log logbuffer.Buffer
	l := launch(t, "")
	l.Logger = log.Logger()
	validation, err := started(t, l).Validate(t.Context(), secret.Resolved{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, diagnostic := range validation.Provider {
		if level, ok := strings.CutPrefix(diagnostic.Summary, providerpb.LogLevelEnv+"="); ok && level == "debug" {
			return
		}
	}
	t.Errorf("no %s=debug among %v", providerpb.LogLevelEnv, validation.Provider)
}
