package agentserver

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// pasteLine runs a line in a shell on a host that has some programs alone.
func pasteLine(t *testing.T, shell, line string, programs ...string) (out, home string, code int) {
	t.Helper()
	home = t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(programs, "mktemp", "rm", "cut", "chmod", "cat", "sh") {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not on this machine", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not on this machine", shell)
	}
	c := exec.Command(path)
	c.Stdin = strings.NewReader(line + "\n")
	c.Env = []string{"PATH=" + bin, "HOME=" + home}
	text, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), home, c.ProcessState.ExitCode()
}

// The agent of this test writes down what it is called with and given.
const recordingAgent = "#!/bin/sh\necho \"$@\" >\"$HOME/called\"\ncat >\"$HOME/given\"\n"

func TestTheJoinLineWorksInEveryShellWithWhatAHostHas(t *testing.T) {
	server := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(recordingAgent)) }),
	)
	defer server.Close()
	sum := sha256.Sum256([]byte(recordingAgent))
	c := JoinCommand{Token: "fyt1.it's.secret", Bootstrap: fleet.BootstrapIntent{
		ManagerURL:    server.URL,
		ServerName:    "manager.lab",
		CAFingerprint: "sha256:ab",
		AgentURL:      server.URL + "/v1/runner/download?target=linux-amd64",
		AgentSHA256:   hex.EncodeToString(sum[:]),
	}}
	line, err := c.Line()
	if err != nil || strings.Contains(line, "\n") {
		t.Fatalf("%q, %v", line, err)
	}
	for _, host := range [][]string{{"bash", "curl", "sha256sum"}, {"dash", "curl", "sha256sum"},
		{"dash", "wget", "sha256sum"}, {"bash", "curl", "shasum", "perl"}} {
		t.Run(strings.Join(host, " "), func(t *testing.T) {
			out, home, code := pasteLine(t, host[0], line, host[1:]...)
			given, err := os.ReadFile(filepath.Join(home, "given"))
			if code != 0 || err != nil {
				t.Fatalf("it ended with %d, %v:\n%s", code, err, out)
			}
			want := `{"manager_url":"` + server.URL +
				`","server_name":"manager.lab","ca_fingerprint":"sha256:ab","token":"fyt1.it's.secret","agent_url":"` +
				c.Bootstrap.AgentURL + `","agent_sha256":"` + c.Bootstrap.AgentSHA256 + `"}` + "\n"
			if string(given) != want {
				t.Errorf("the agent was given %s\nwant %s", given, want)
			}
			if called, _ := os.ReadFile(filepath.Join(home, "called")); string(called) != "join\n" {
				t.Errorf("the agent was called with %q", called)
			}
			if left, _ := filepath.Glob(filepath.Join(home, ".forgeyard-join*")); len(left) > 0 {
				t.Errorf("the download is left: %v", left)
			}
		})
	}
}

func TestTheJoinLineStartsNothingThatIsNotTheAgent(t *testing.T) {
	server := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(recordingAgent)) }),
	)
	defer server.Close()
	c := JoinCommand{
		Token:      "t",
		Foreground: true,
		Bootstrap:  fleet.BootstrapIntent{AgentURL: server.URL, AgentSHA256: strings.Repeat("0", 64)},
	}
	line, err := c.Line()
	if err != nil || !strings.HasSuffix(line, `join --foreground )`) {
		t.Fatalf("%q, %v", line, err)
	}
	out, home, code := pasteLine(t, "dash", line, "curl", "sha256sum")
	if _, err := os.Stat(
		filepath.Join(home, "called"),
	); code == 0 || err == nil ||
		!strings.Contains(out, "is not the agent of this command") {
		t.Errorf("it ended with %d, started %t:\n%s", code, err == nil, out)
	}
	server.Close()
	if out, _, code := pasteLine(
		t,
		"dash",
		line,
		"curl",
		"sha256sum",
	); code == 0 ||
		!strings.Contains(out, "could not be downloaded") {
		t.Errorf("without a manager it ended with %d:\n%s", code, out)
	}
}
