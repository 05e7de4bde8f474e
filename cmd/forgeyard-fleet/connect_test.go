package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
)

// Who runs the daemon has a state directory and maybe no files at all.
func TestReadingNeedsNoFleetFilesWithAState(t *testing.T) {
	d := newDesk(t)
	if code, out := d.run(
		t.Context(),
		strings.NewReader(""),
		false,
		"apply",
		"--auto-approve",
		d.files,
	); code != terminal.ExitDone {
		t.Fatalf("apply exits with %d:\n%s", code, out)
	}
	t.Chdir(t.TempDir())
	state := d.env["FLEET_STATE_DIR"]
	for _, named := range []string{"by the environment", "by the flag"} {
		var flag []string
		if named == "by the flag" {
			delete(d.env, "FLEET_STATE_DIR")
			flag = []string{"--state", state}
		}
		for _, args := range [][]string{{"status"}, {"list"}, {"instance", "list"}, {"instance", "list", "--all"},
			{"token", "list"}, {"token", "create", strings.ReplaceAll(named, " ", "-"), "--permission", "fleet.read"}} {
			if code, out := d.run(t.Context(), strings.NewReader(""), false,
				append(args, flag...)...); code != terminal.ExitDone {
				t.Errorf("%s, %q exits with %d:\n%s", named, args, code, out)
			}
		}
	}
	code, out := d.run(t.Context(), strings.NewReader(""), false, "status")
	if code != terminal.ExitError {
		t.Errorf("without anything status exits with %d", code)
	}
	wantScreen(t, out, "--dir, --state or --server")
}

func TestADirectoryIsAnArgumentOrAFlagAndNotTwo(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{{"validate", d.files}, {"validate", "--dir", d.files},
		{"validate", d.files + "/", "--dir", d.files}, {"fmt", "--check", "--dir", d.files}} {
		if code, out := d.run(t.Context(), strings.NewReader(""), false, args...); code != terminal.ExitDone {
			t.Errorf("%q exits with %d:\n%s", args, code, out)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"validate", "plan", "apply", "init", "serve", "fmt"} {
		code, out := d.run(t.Context(), strings.NewReader(""), false, command, d.files, "--dir", other)
		if code != terminal.ExitError {
			t.Errorf("%s exits with %d", command, code)
		}
		wantScreen(t, out, "give only one of them")
	}
}

func TestAHistoryHasALimit(t *testing.T) {
	d := newDesk(t)
	for want, args := range map[string][]string{
		"1 ≤ limit ≤ 1000": {"instance", "list", "--all", "--limit", "0"},
		"need --all":       {"instance", "list", "--limit", "7"},
	} {
		code, out := d.run(t.Context(), strings.NewReader(""), false, args...)
		if code != terminal.ExitError {
			t.Errorf("%q exits with %d", args, code)
		}
		wantScreen(t, out, want)
	}
}

var apiAt = regexp.MustCompile(`API at (https://\S+), authority (sha256:[0-9a-f]{64})`)

// served is the desk's installation with a daemon, until the test ends: the URL of
// its API, and the fingerprint of its authority.
func (d *desk) served() (url, authority string) {
	d.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(d.t.Context()))
	out, over := &screen{asked: make(chan struct{})}, make(chan int, 1)
	daemon := *d // the desk's own version may change meanwhile
	go func() {
		over <- daemon.start(ctx, strings.NewReader(""), false, out, "serve", "--api-listen", "127.0.0.1:0", d.files)
	}()
	d.t.Cleanup(func() {
		stop()
		if code := <-over; code != terminal.ExitDone {
			d.t.Errorf("the daemon ends with %d:\n%s", code, out)
		}
	})
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-ticker.C {
		text := out.String()
		if found := apiAt.FindStringSubmatch(text); found != nil && strings.Contains(text, "Serving") {
			return found[1], found[2]
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("the daemon doesn't serve:\n%s", text)
		}
	}
}

func TestPlanNotesAnotherManagerVersion(t *testing.T) {
	d := newDesk(t)
	d.served()
	const note = "Note: the running manager has version 0.1.0, this command 0.2.0."
	_, out := d.run(t.Context(), strings.NewReader(""), false, "plan", d.files)
	if strings.Contains(out.String(), "Note:") {
		t.Errorf("nothing differs, and it is told:\n%s", out)
	}
	d.version = "0.2.0"
	for _, args := range [][]string{{"plan", d.files}, {"apply", "--auto-approve", d.files}} {
		code, out := d.run(t.Context(), strings.NewReader(""), false, args...)
		if code != terminal.ExitDone {
			t.Errorf("%q exits with %d", args, code)
		}
		wantScreen(t, out, note)
	}
	code, out := d.run(t.Context(), strings.NewReader(""), false, "status", "--dir", d.files)
	if code != terminal.ExitDone {
		t.Errorf("status exits with %d", code)
	}
	wantScreen(t, out, "Manager: process ", ", version 0.1.0.")
}

func TestUnknownAuthorityNamesTheVariableToSet(t *testing.T) {
	d := newDesk(t)
	url, authority := d.served()
	code, out := d.run(
		t.Context(),
		strings.NewReader(""),
		false,
		"token",
		"create",
		"far",
		"--permission",
		"fleet.read",
		"--dir",
		d.files,
	)
	if code != terminal.ExitDone {
		t.Fatalf("token create exits with %d:\n%s", code, out)
	}
	lines := strings.Fields(out.String())
	d.env["FLEET_TOKEN"] = lines[len(lines)-1]
	code, out = d.run(t.Context(), strings.NewReader(""), false, "status", "--server", url)
	if code != terminal.ExitError {
		t.Errorf("status exits with %d", code)
	}
	wantScreen(t, out, "set FLEET_SERVER_CA to the fingerprint of its authority")
	d.env["FLEET_SERVER_CA"] = authority // what the remedy says works
	if code, out = d.run(t.Context(), strings.NewReader(""), false, "status", "--server", url); code != terminal.ExitDone {
		t.Errorf("with the fingerprint status exits with %d:\n%s", code, out)
	}
}
