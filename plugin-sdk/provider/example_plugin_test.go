//go:build unix

package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

const exampleFolder = "../../examples/plugin-process"

func TestSmallestWholeProviderStaysUnder120Lines(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(exampleFolder, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(content, []byte("\n")); lines >= 120 {
		t.Errorf("main.go has %d lines", lines)
	}
}

// The example is copied away from the workspace and built with what its go.mod
// says, as somebody does who has never seen this repository.
func TestStrangersPluginIsBuiltAndUsed(t *testing.T) {
	root := t.TempDir()
	configuration, err := json.Marshal(map[string]string{"root": root, "runner": fakeAgent(t)})
	if err != nil {
		t.Fatal(err)
	}
	host := launch(t, exec.Command(buildAsStranger(t)))
	info, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{})
	if err != nil || info.Name != "process" {
		t.Fatalf("got %v, %v", info, err)
	}
	configured, err := host.Configure(t.Context(),
		&providerpb.ConfigureRequest{Installation: "inst", ProviderJson: configuration})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("got %v, %v", configured, err)
	}

	wantOutcome(t, provisionProcess(t, host, "k1"), created, noClass)
	eventually(t, "the agent runs", func() bool { return stateOf(t, host, "k1") == providerpb.Resource_STATE_RUNNING })
	wantOutcome(t, provisionProcess(t, host, "k1"), existed, noClass)
	if got := agentStarts(t, root, "k1"); got != 1 {
		t.Errorf("the same key twice started %d agents", got)
	}
	everything := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{}))
	if everything.err != nil || len(everything.messages[0].Resources) != 1 ||
		everything.messages[0].Resources[0].Id != "k1" {
		t.Errorf("got %v", everything)
	}

	for _, when := range []string{"once", "twice"} {
		got := receive(
			host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Id: "k1", Key: "k1"}}}))
		if got.err != nil || got.messages[0].Outcome != providerpb.TerminateResponse_OUTCOME_GONE {
			t.Errorf("terminated %s: %v", when, got)
		}
	}
	look := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{"k1"}}))
	if look.err != nil || len(look.messages[0].AbsentKeys) != 1 {
		t.Errorf("after the end: %v", look)
	}
}

func TestStrangersPluginClaimsNothingExistsWithoutARunner(t *testing.T) {
	configuration, err := json.Marshal(map[string]string{"root": t.TempDir(), "runner": "/does/not/exist"})
	if err != nil {
		t.Fatal(err)
	}
	host := launch(t, exec.Command(buildAsStranger(t)))
	if _, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{ProviderJson: configuration}); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, provisionProcess(t, host, "k1"), nothing, providerpb.Error_CLASS_INVALID)
}

// A second request while the agent was still starting was answered as a new
// instance, and a removal under another key as done.
func TestStrangersPluginKnowsAnInstanceBeforeItsAgentHasTheLock(t *testing.T) {
	configuration, err := json.Marshal(map[string]string{"root": t.TempDir(), "runner": "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	host := launch(t, exec.Command(buildAsStranger(t)))
	if _, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{ProviderJson: configuration}); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, provisionProcess(t, host, "k1"), created, noClass)
	wantOutcome(t, provisionProcess(t, host, "k1"), existed, noClass)
	got := receive(
		host.Terminate(t.Context(), &providerpb.TerminateRequest{Refs: []*providerpb.Ref{{Id: "k1", Key: "k2"}}}))
	if got.err != nil || got.messages[0].Outcome != providerpb.TerminateResponse_OUTCOME_REFUSED {
		t.Errorf("terminated under another key: %v", got)
	}
}

func buildAsStranger(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	sdk, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(exampleFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte("=> ../../plugin-sdk"), []byte("=> "+sdk))
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-o", "forgeyard-plugin-process", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(folder, "forgeyard-plugin-process")
}

func provisionProcess(t *testing.T, host *launched, key string) *providerpb.ProvisionResponse {
	t.Helper()
	got := receive(host.Provision(t.Context(), &providerpb.ProvisionRequest{
		Fleet: "linux", InstanceJson: []byte(`{}`),
		Items: []*providerpb.ProvisionRequest_Item{{Key: key, Bootstrap: &providerpb.Bootstrap{
			ManagerUrl: "https://127.0.0.1:1", ServerName: "manager.inst", Token: "tok-secret",
			CaFingerprint: "sha256:" + strings.Repeat("ab", 32),
		}}},
	}))
	if got.err != nil || len(got.messages) != 1 {
		t.Fatalf("got %v", got)
	}
	return got.messages[0]
}

func stateOf(t *testing.T, host *launched, key string) providerpb.Resource_State {
	t.Helper()
	got := receive(host.Inspect(t.Context(), &providerpb.InspectRequest{Keys: []string{key}}))
	if got.err != nil {
		t.Fatal(got.err)
	}
	for _, resource := range got.messages[0].Resources {
		return resource.State
	}
	return providerpb.Resource_STATE_UNSPECIFIED
}

// fakeAgent is this test binary behind a script, playing forgeyard-runner.
func fakeAgent(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "forgeyard-runner")
	content := fmt.Sprintf("#!/bin/sh\nFORGEYARD_TEST_AGENT=1 exec %q \"$@\"\n", self)
	if err := os.WriteFile(script, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// playAgent keeps to the lock's rules, notes its start, and waits for a signal.
func playAgent(arguments []string) int {
	flags := map[string]string{}
	for i := 0; i+1 < len(arguments); i += 2 {
		flags[arguments[i]] = arguments[i+1]
	}
	if _, err := os.Stat(flags["--bootstrap"]); err != nil {
		return 1
	}
	lock, err := os.OpenFile(flags["--lock"], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil || unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return 0
	}
	starts, err := os.OpenFile(flags["--state"]+".starts", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(starts, os.Getpid())
	fmt.Fprintln(lock, os.Getpid())
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM)
	<-ended
	return 0
}

func agentStarts(t *testing.T, root, key string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, key, "agent.starts"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(content, []byte("\n"))
}
