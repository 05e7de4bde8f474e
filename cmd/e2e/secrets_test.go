//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The enrollment token is in one host's bootstrap document and nowhere else.
func TestTheTokenIsInTheBootstrapDocumentAlone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(definition{min: 2, max: 2}.String())
	w.install()
	c := w.start("apply", "--auto-approve", "--log-level", "debug")
	c.mustSay("→ healthy")
	// Killed, so that the store's journal is still there to be looked through.
	r := c.kill()
	said := map[string]string{
		"apply's output": r.out, "apply's log": r.err,
	}
	for _, args := range [][]string{
		{"status", "--json"}, {"instance", "list", "--json"}, {"plan", "--json"}, {"list"},
		{"instance", "show", "--json", w.instances()[0].ID},
	} {
		r := w.fleet(0, append(args, "--log-level", "debug")...)
		said[strings.Join(args, " ")] = r.out + r.err
	}
	for _, token := range w.tokens() {
		for where, text := range said {
			if strings.Contains(text, token) {
				t.Errorf("%s holds a token", where)
			}
		}
		w.mustNotHold(token)
	}
	r = w.apply(0, "--log-level", "debug")
	w.shouldHave(2)
	for _, token := range w.tokens() {
		if strings.Contains(r.out+r.err, token) {
			t.Error("the second apply shows a token")
		}
		w.mustNotHold(token)
	}
}

// tokens are those of the hosts' bootstrap documents, which only their owner
// may read.
func (w *workspace) tokens() []string {
	w.t.Helper()
	var tokens []string
	for _, key := range w.keys() {
		path := filepath.Join("hosts", key, "bootstrap.json")
		if info, err := os.Stat(w.path(path)); err != nil || info.Mode().Perm() != 0o600 {
			w.t.Errorf("the bootstrap document has the mode %v, %v", info.Mode(), err)
		}
		var document struct {
			Token string `json:"token"`
		}
		if err := json.Unmarshal([]byte(w.read(path)), &document); err != nil || len(document.Token) < 20 {
			w.t.Fatalf("the bootstrap document holds the token %q, %v", document.Token, err)
		}
		tokens = append(tokens, document.Token)
	}
	if len(tokens) != 2 {
		w.t.Fatalf("there are %d tokens, want 2", len(tokens))
	}
	return tokens
}

// mustNotHold looks for a secret in every file of the workspace but bootstrap
// documents, and in the command line and environment of every process.
func (w *workspace) mustNotHold(secret string) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "bootstrap.json" {
			return ignoreGone(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return ignoreGone(err)
		}
		files++
		if bytes.Contains(content, []byte(secret)) {
			w.t.Errorf("%s holds a token", path)
		}
		return nil
	})
	if err != nil || files < 10 {
		w.t.Errorf("only %d files were looked through: %v", files, err)
	}
	for _, p := range w.processes() {
		environment, _ := os.ReadFile(filepath.Join("/proc", itoa(p.pid), "environ")) // it may have ended
		if strings.Contains(p.command, secret) || bytes.Contains(environment, []byte(secret)) {
			w.t.Errorf("the process %v shows a token", p)
		}
	}
}

// ignoreGone lets files of jobs come and go.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
