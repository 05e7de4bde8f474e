package bootstrap

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const secretToken = "tok-very-secret"

func validDocument() Document {
	return Document{
		Kind:          KindFile,
		ManagerURL:    "https://127.0.0.1:7443",
		ServerName:    "manager.test.forgeyard-fleet.internal",
		CAFingerprint: "sha256:" + strings.Repeat("ab", 32),
		Token:         secretToken,
		AgentURL:      "https://127.0.0.1:7443/v1/runner/download?target=linux-amd64",
		AgentSHA256:   strings.Repeat("cd", 32),
	}
}

func TestWrittenDocumentIsReadBackAndIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := validDocument().Write(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode is %o, wanted 600", mode)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != validDocument() {
		t.Errorf("read back %#v with other fields than written", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRenderingTwiceGivesTheSameBytes(t *testing.T) {
	first, err := Render(validDocument())
	if err != nil {
		t.Fatal(err)
	}
	second, err := Render(validDocument())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two renderings differ")
	}
}

func TestParseRefuses(t *testing.T) {
	valid, err := Render(validDocument())
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, replacement string) string {
		changed := strings.Replace(string(valid), old, replacement, 1)
		if changed == string(valid) {
			t.Fatalf("%q is not in the document", old)
		}
		return changed
	}
	for name, test := range map[string]struct{ content, want string }{
		"an unknown field":              {change(`"kind"`, `"knid": "x", "kind"`), `unknown field "knid"`},
		"something after the end":       {string(valid) + "{}", "after its end"},
		"text that is not valid JSON":   {"kind: file", "not a valid JSON"},
		"nothing":                       {"", "not a valid JSON"},
		"a missing token":               {change(secretToken, ""), "token is missing"},
		"a missing server name":         {change("manager.test.forgeyard-fleet.internal", ""), "server_name is missing"},
		"a plain http manager":          {change("https://127.0.0.1:7443\"", "http://127.0.0.1:7443\""), "not an https URL"},
		"a fingerprint without sha256:": {change("sha256:", ""), "ca_fingerprint"},
		"an agent without its digest":   {change(strings.Repeat("cd", 32), ""), "go together"},
		"a short agent digest":          {change(strings.Repeat("cd", 32), "cdcd"), "64 hex digits"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.content))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, wanted an error that says %q", err, test.want)
			}
			if strings.Contains(err.Error(), secretToken) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestReadRefusesAHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.json")
	if err := os.WriteFile(path, bytes.Repeat([]byte(" "), maxDocumentBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

func TestRenderNamesTheSupportedKinds(t *testing.T) {
	document := validDocument()
	document.Kind = "ignition"
	_, err := Render(document)
	if err == nil || !strings.Contains(err.Error(), `"ignition" is not supported yet; supported: file, cloud-init`) {
		t.Errorf("got %v", err)
	}
}

func TestTokenIsInNoPrintAndNoLog(t *testing.T) {
	var out bytes.Buffer
	document := validDocument()
	fmt.Fprintf(&out, "%v %+v %#v %s\n", document, document, document, document)
	fmt.Fprintf(&out, "%+v %#v\n", struct{ D Document }{document}, &document)
	logger := slog.New(slog.NewJSONHandler(&out, nil))
	logger.Info("boot", "document", document)
	slog.New(slog.NewTextHandler(&out, nil)).Info("boot", "document", document)
	if strings.Contains(out.String(), secretToken) {
		t.Errorf("the token leaked:\n%s", out.String())
	}
}

// The agent's binary imports this package and must stay without grpc.
func TestOnlyTheStandardLibraryIsImported(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	const self = "github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	if got := strings.TrimSpace(string(out)); got != self {
		t.Errorf("beside the standard library it imports:\n%s", got)
	}
}

func FuzzParse(f *testing.F) {
	valid, err := Render(validDocument())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add([]byte(`{"kind":"file"}`))
	f.Add([]byte(`{"kind":1}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		document, err := Parse(content)
		if err != nil {
			return
		}
		if err := document.Check(); err != nil {
			t.Errorf("accepted a document that its own check refuses: %v", err)
		}
	})
}
