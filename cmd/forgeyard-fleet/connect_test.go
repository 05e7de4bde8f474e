package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who runs the daemon has a state directory and maybe no files at all.
func TestWhoLooksNeedsNoFleetFilesWhereTheStateIsNamed(t *testing.T) {
	d := newDesk(t)
	if code, out := d.run(t.Context(), strings.NewReader(""), false, "apply", "--auto-approve", d.files); code != exitDone {
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
		for _, args := range [][]string{{"status"}, {"list"}, {"instance", "list"}, {"instance", "list", "--all"}, {"token", "list"}, {"token", "create", strings.ReplaceAll(named, " ", "-"), "--permission", "fleet.read"}} {
			if code, out := d.run(t.Context(), strings.NewReader(""), false, append(args, flag...)...); code != exitDone {
				t.Errorf("%s, %q exits with %d:\n%s", named, args, code, out)
			}
		}
	}
	code, out := d.run(t.Context(), strings.NewReader(""), false, "status")
	if code != exitError {
		t.Errorf("without anything status exits with %d", code)
	}
	wantScreen(t, out, "--dir, --state or --server")
}

func TestADirectoryIsAnArgumentOrAFlagAndNotTwo(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{{"validate", d.files}, {"validate", "--dir", d.files}, {"validate", d.files + "/", "--dir", d.files}, {"fmt", "--check", "--dir", d.files}} {
		if code, out := d.run(t.Context(), strings.NewReader(""), false, args...); code != exitDone {
			t.Errorf("%q exits with %d:\n%s", args, code, out)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"validate", "plan", "apply", "init", "serve", "fmt"} {
		code, out := d.run(t.Context(), strings.NewReader(""), false, command, d.files, "--dir", other)
		if code != exitError {
			t.Errorf("%s exits with %d", command, code)
		}
		wantScreen(t, out, "give one of them")
	}
}

func TestAHistoryHasALimit(t *testing.T) {
	d := newDesk(t)
	for want, args := range map[string][]string{
		"from 1 to 1000":  {"instance", "list", "--all", "--limit", "0"},
		"give --all, too": {"instance", "list", "--limit", "7"},
	} {
		code, out := d.run(t.Context(), strings.NewReader(""), false, args...)
		if code != exitError {
			t.Errorf("%q exits with %d", args, code)
		}
		wantScreen(t, out, want)
	}
}
