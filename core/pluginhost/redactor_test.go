//go:build unix

package pluginhost

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/logbuffer"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

const (
	leakPrefix = `{"token":"`
	planted    = "hunter2/planted+<secret>"
	plantedFyt = "fyt1.01JZZZZZZZZZZZZZZZZZZZZZZZ.abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst"
)

// configureToSpill takes a secret and shows it at once.
func (p *testPlugin) configureToSpill(value string) (*providerpb.ConfigureResponse, error) {
	p.leaked = value
	stderr := standardError
	line, err := json.Marshal(
		map[string]any{
			"@level":   "info",
			"@message": "token " + value,
			"token":    value,
			"nested":   map[string]string{value: value},
		},
	)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "%s\nplain %s\nBasic %s\n", line, value, base64.StdEncoding.EncodeToString([]byte("user:"+value)))
	fmt.Fprintf(stderr, "%s%s\nthe last line\n", strings.Repeat("x", pluginlog.MaxLine-4), value)
	answer := &providerpb.ConfigureResponse{Account: "account", Diagnostics: []*providerpb.Diagnostic{{
		Severity: providerpb.Diagnostic_SEVERITY_WARNING, Summary: "the token " + value + " is old", Detail: "renew " + value,
		Path: []*providerpb.Diagnostic_Step{{Step: &providerpb.Diagnostic_Step_Name{Name: value}}},
	}}}
	if p.mode == "account" {
		answer.Account = "account of " + value
	}
	return answer, nil
}

func (p *testPlugin) leakedResource(key string) *providerpb.Resource {
	r := &providerpb.Resource{
		Id: "i-1", Key: key, Detail: "made with " + p.leaked, Zone: p.leaked, Addresses: []string{p.leaked, "10.0.0.1"},
		Tags: map[string]string{"token": p.leaked, p.leaked: "token", "fleet": "demo"}, Image: plantedFyt,
	}
	switch key {
	case "leak the id":
		r.Id = "i-" + p.leaked
	case "leak the owner":
		r.BelongsTo = p.leaked
	}
	return r
}

// leaking is a configured plugin that shows its secret wherever it can.
func leaking(t *testing.T, mode string) (*Process, *logbuffer.Buffer, []fleet.PluginDiagnostic, error) {
	t.Helper()
	log := &logbuffer.Buffer{}
	l := launch(t, mode)
	l.Logger = log.Logger()
	process := started(t, l)
	_, found, err := process.Configure(t.Context(), Configuration{Provider: secret.Resolved{
		Body: []byte(leakPrefix + planted + `"}`), Secrets: []string{planted},
	}})
	return process, log, found, err
}

// mustHide fails where a text shows the secret, whole or its beginning.
func mustHide(t *testing.T, where string, shown any) {
	t.Helper()
	text := fmt.Sprintf("%+v", shown)
	for _, form := range []string{planted, planted[:4],
		base64.StdEncoding.EncodeToString([]byte("user:" + planted))[8:24], plantedFyt[32:]} {
		if strings.Contains(text, form) {
			t.Errorf("%s shows %q:\n%s", where, form, text)
		}
	}
}

func TestWhatAPluginSaysNeverShowsTheSecretsItWasGiven(t *testing.T) {
	process, log, found, err := leaking(t, "")
	if err != nil || len(found) != 1 || found[0].Summary != "the token (hidden) is old" ||
		found[0].Detail != "renew (hidden)" {
		t.Errorf("the diagnostics are %+v, %v", found, err)
	}
	mustHide(t, "a diagnostic", found)
	eventually(t, "all lines are logged", func() bool { return strings.Contains(log.String(), "the last line") })
	for _, want := range []string{`"token (hidden)"`, `token=(hidden)`, `"plain (hidden)"`, "Basic ", "cut=true"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	mustHide(t, "the log", log)

	seen, err := process.Inspect(t.Context(), []fleet.OperationID{"leak"})
	if err != nil || len(seen.Resources) != 1 {
		t.Fatalf("%+v, %v", seen, err)
	}
	mustHide(t, "a resource", seen)
	r := seen.Resources[0]
	if r.ID != "i-1" || r.Tags["token"] != "(hidden)" || r.Tags["fleet"] != "demo" || r.Detail != "made with (hidden)" ||
		!slices.Equal(r.Addresses, []string{"(hidden)", "10.0.0.1"}) {
		t.Errorf("what is not secret was changed: %+v", r)
	}
	if r.Image != "fyt1.01JZZZZZZZZZZZZZZZZZZZZZZZ.(hidden)" {
		t.Errorf("an enrollment token became %q", r.Image)
	}
	for _, name := range []string{"leak", "end with leak", "end without class and leak", "crash with leak"} {
		var answers []ProvisionAnswer
		err := process.Provision(
			t.Context(),
			ProvisionRequest{Items: []ProvisionItem{{Key: "k", Name: name, Bootstrap: Bootstrap{Token: plantedFyt}}}},
			func(a ProvisionAnswer) { answers = append(answers, a) },
		)
		if len(answers) != 1 || answers[0].Err == nil {
			t.Fatalf("%s: %+v, %v", name, answers, err)
		}
		mustHide(t, name+": the answer", *answers[0].Err)
		mustHide(t, name+": the error", err)
		switch name {
		case "leak":
			if a := answers[0]; a.Outcome != fleet.ProvisionNotCreated || a.Err.Class != fleet.ErrorAuth ||
				a.Err.Message != "refused (hidden)" {
				t.Errorf("%+v", a.Err)
			}
		case "end with leak":
			wantError(t, err, "no quota for (hidden)", string(fleet.ErrorQuota))
		case "end without class and leak":
			wantError(t, err, "who knows (hidden)")
		}
	}
	exits(t, process)
	// Its last lines may still be in the pipe when the process is gone.
	eventually(t, "see its last lines", func() bool { return strings.Contains(process.ExitCause().Error(), "panic: ") })
	wantError(t, process.ExitCause(), "panic: (hidden)")
	mustHide(t, "the exit's cause", process.ExitCause())
	mustHide(t, "the log", log)
}

// An id with a part hidden is another id: with it the manager would remove, or
// call gone, what it doesn't mean.
func TestAnAnswerWithASecretInAnIdentityIsNoAnswer(t *testing.T) {
	process, _, _, err := leaking(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []fleet.OperationID{"leak the id", "leak the owner"} {
		seen, err := process.Inspect(t.Context(), []fleet.OperationID{key})
		if seen.Complete || len(seen.Resources) > 0 {
			t.Errorf("%s: the inspection is %+v", key, seen)
		}
		wantError(t, err, "puts a secret that it was given into", "plugin's author")
		mustHide(t, string(key), err)
	}
	_, _, _, err = leaking(t, "account")
	wantError(t, err, "into the account")
	mustHide(t, "the error about the account", err)
}

func TestASecretThatIsTooShortIsWarnedAboutWithoutIt(t *testing.T) {
	log := &logbuffer.Buffer{}
	l := launch(t, "")
	l.Logger = log.Logger()
	process := started(t, l)
	if _, err := process.Validate(
		t.Context(),
		secret.Resolved{Body: []byte(`{}`), Secrets: []string{"pl4nt"}},
		nil,
	); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "too short") || !strings.Contains(text, "shorter_than_bytes=6") ||
		strings.Contains(text, "pl4nt") {
		t.Errorf("the log says\n%s", text)
	}
}
