package bootstrap

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
)

// firstBoot runs the user data as cloud-init would, with another home and no pause
// between tries, and gives what it printed.
func firstBoot(t *testing.T, document Document, home, path string) (string, error) {
	t.Helper()
	document.Kind = KindCloudInit
	script, err := Render(document)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/opt/forgeyard-runner", home, "sleep 5", ":", "-ge 60", "-ge 3").Replace(string(script))
	c := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
	c.Env = []string{"PATH=" + path}
	out, err := c.CombinedOutput()
	return string(out), err
}

// agentThatTells is an "agent" that writes down what join gets.
func agentThatTells(heard string) string {
	return "#!/bin/sh\n[ \"$1\" = join ] && cat >" + heard + "\n"
}

func TestTheFirstBootFetchesTheAgentAndHandsItTheDocument(t *testing.T) {
	for _, tool := range []string{"curl", "wget", "python3"} {
		t.Run("with "+tool, func(t *testing.T) {
			found := "/usr/bin/" + tool
			if _, err := os.Stat(found); err != nil {
				t.Skip(tool + " isn't here")
			}
			heard := filepath.Join(t.TempDir(), "heard")
			agent := agentThatTells(heard)
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(agent))
			}))
			defer server.Close()
			// A path with this one of the three tools.
			path := t.TempDir()
			for _, name := range []string{"mkdir", "cat", "rm", "sha256sum", "cut", "chmod"} {
				link(t, name, path)
			}
			if err := os.Symlink(found, filepath.Join(path, tool)); err != nil {
				t.Fatal(err)
			}
			digest := sha256.Sum256([]byte(agent))
			document := validDocument()
			document.AgentURL, document.AgentSHA256 = server.URL+"/v1/runner/download?target=linux-amd64",
				hex.EncodeToString(digest[:])
			home := filepath.Join(t.TempDir(), "home")
			if out, err := firstBoot(t, document, home, path); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got, err := Read(heard)
			if document.Kind = KindFile; err != nil || got != document {
				t.Errorf("the agent got %v, %v", got, err)
			}
			if left, _ := os.ReadDir(home); len(left) > 0 {
				t.Errorf("the token may be in what is left: %v", left)
			}
		})
	}
}

func link(t *testing.T, name, folder string) {
	t.Helper()
	found, err := exec.LookPath(name)
	if err == nil {
		err = os.Symlink(found, filepath.Join(folder, name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheFirstBootRunsNoAgentOfAnotherDigest(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl isn't here")
	}
	heard := filepath.Join(t.TempDir(), "heard")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(agentThatTells(heard)))
	}))
	defer server.Close()
	document := validDocument()
	document.AgentURL = server.URL
	out, err := firstBoot(t, document, filepath.Join(t.TempDir(), "home"), os.Getenv("PATH"))
	if err == nil || !strings.Contains(out, "is not the agent") {
		t.Errorf("got %v and %q", err, out)
	}
	if _, err := os.Stat(heard); err == nil {
		t.Error("an agent with a wrong digest was run")
	}
}

func TestTheFirstBootOfAnImageWithTheAgentFetchesNothing(t *testing.T) {
	folder := t.TempDir()
	heard := filepath.Join(folder, "heard")
	if err := os.WriteFile(filepath.Join(folder, "forgeyard-runner"), []byte(agentThatTells(heard)), 0o755); err != nil {
		t.Fatal(err)
	}
	document := validDocument()
	document.AgentURL, document.AgentSHA256 = "", ""
	if out, err := firstBoot(t, document, filepath.Join(t.TempDir(), "home"), folder+":"+os.Getenv("PATH")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := Read(heard); err != nil || got.Token != document.Token {
		t.Errorf("the agent got %v, %v", got, err)
	}
	if out, err := firstBoot(t, document, filepath.Join(t.TempDir(), "home"), "/usr/bin:/bin"); err == nil ||
		!strings.Contains(out, "on its PATH") {
		t.Errorf("without the agent: %v and %q", err, out)
	}
}
