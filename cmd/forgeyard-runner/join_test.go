package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

func TestTheServiceOfSystemdTakesARefusalForFinal(t *testing.T) {
	want := `# Written by "forgeyard-runner join".
[Unit]
Description=Agent of forgeyard-fleet
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/opt/forgeyard-runner/forgeyard-runner --bootstrap /opt/forgeyard-runner/bootstrap.json --state /opt/forgeyard-runner/agent --stay
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=3
# The agent ends its job; what is left afterwards is killed.
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`
	if got := unit("/opt/forgeyard-runner"); got != want {
		t.Errorf("the unit is\n%s", got)
	}
}

func TestTheDaemonOfLaunchdEndsARefusalWell(t *testing.T) {
	want := `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>io.github.forgeyard.runner</string>
	<key>ProgramArguments</key>
	<array>
		<string>/opt/forgeyard-runner/forgeyard-runner</string>
		<string>--bootstrap</string>
		<string>/opt/forgeyard-runner/bootstrap.json</string>
		<string>--state</string>
		<string>/opt/forgeyard-runner/agent</string>
		<string>--stay</string>
		<string>--refused-status</string>
		<string>0</string>
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ExitTimeOut</key>
	<integer>60</integer>
	<key>StandardErrorPath</key>
	<string>/opt/forgeyard-runner/agent.log</string>
</dict>
</plist>
`
	if got := plist("/opt/forgeyard-runner"); got != want {
		t.Errorf("the daemon is\n%s", got)
	}
	for folder, fits := range map[string]bool{"/opt/forgeyard-runner": true, "/opt/a b": false, "/opt/%h": false,
		"/opt/<": false} {
		if (fitsService(folder) == nil) != fits {
			t.Errorf("%q fits a service's file: %t", folder, !fits)
		}
	}
}

func TestTheAgentLivesWhereItsUserMayWrite(t *testing.T) {
	for name, c := range map[string]struct {
		uid  int
		env  map[string]string
		want string
	}{
		"root":                {0, map[string]string{"HOME": "/root"}, "/opt/forgeyard-runner"},
		"a user":              {1000, map[string]string{"HOME": "/home/ci"}, "/home/ci/.local/state/forgeyard-runner"},
		"a user with XDG":     {1000, map[string]string{"HOME": "/home/ci", "XDG_STATE_HOME": "/s"}, "/s/forgeyard-runner"},
		"another folder":      {0, map[string]string{homeVariable: "/elsewhere"}, "/elsewhere"},
		"a user with no home": {1000, nil, ""},
	} {
		got, err := homeOf(c.uid, func(name string) string { return c.env[name] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// joinerOf is a host whose agent is a script that is refused at once.
func joinerOf(t *testing.T, document string) (j joiner, out, errs *bytes.Buffer) {
	t.Helper()
	folder := t.TempDir()
	self := filepath.Join(folder, "downloaded")
	if err := os.WriteFile(self, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return joiner{
		in:       strings.NewReader(document),
		out:      out,
		errs:     errs,
		folder:   filepath.Join(folder, "home"),
		self:     self,
		patience: time.Minute,
	}, out, errs
}

const joinDocument = `{"manager_url":"https://127.0.0.1:1","server_name":"manager.lab.forgeyard-fleet.internal","token":"fyt1.x",
	"ca_fingerprint":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}`

func TestJoinKeepsTheTokenInAFileOfItsOwnAndTellsOfARefusal(t *testing.T) {
	j, out, errs := joinerOf(t, joinDocument)
	if code := join(t.Context(), nil, j); code != exitRefused || !strings.Contains(errs.String(), "ended with status 3") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	info, err := os.Stat(documentIn(j.folder))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the document: %v, %v", info, err)
	}
	if stored, err := bootstrap.Read(documentIn(j.folder)); err != nil || stored.Token != "fyt1.x" {
		t.Errorf("%v, %v", stored, err)
	}
	if text := out.String() + errs.String(); strings.Contains(text, "fyt1") {
		t.Errorf("the token was printed:\n%s", text)
	}
}

func TestJoinWithoutADocumentStartsNothing(t *testing.T) {
	for _, document := range []string{"", "{}", joinDocument + joinDocument} {
		j, _, errs := joinerOf(t, document)
		if code := join(t.Context(), nil, j); code != exitUsage || !strings.Contains(errs.String(), "could not be joined") {
			t.Errorf("%q: status %d, %s", document, code, errs)
		}
		if _, err := os.Stat(j.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q left something behind", document)
		}
	}
}

func TestJoinHandsTheAgentToTheServiceManager(t *testing.T) {
	j, out, _ := joinerOf(t, joinDocument)
	started := ""
	j.patience = time.Millisecond
	j.service = func(_ context.Context, folder string) (string, error) { started = folder; return "the journal", nil }
	if code := join(
		t.Context(),
		nil,
		j,
	); code != exitDone || started != j.folder ||
		!strings.Contains(out.String(), "the journal") {
		t.Errorf("status %d, started in %q\n%s", code, started, out)
	}
}
