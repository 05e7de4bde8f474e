//go:build linux

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// planted are secrets that are looked for everywhere, by what they are for. Each
// has a random part of letters and digits alone, which is the same in JSON, URLs
// and quotes: text that shows the secret in any of them shows this.
type planted struct {
	cores map[string]string
}

// core makes a secret's random part.
func (p *planted) core(what string) string {
	core := rand.Text()
	if p.cores == nil {
		p.cores = map[string]string{}
	}
	p.cores[what] = core
	return core
}

// in tells which secrets are in a text, and how they are written there.
func (p *planted) in(text []byte) []string {
	var found []string
	for what, core := range p.cores {
		for how, form := range coreForms(core) {
			if bytes.Contains(text, []byte(form)) {
				found = append(found, what+how)
			}
		}
	}
	slices.Sort(found)
	return found
}

// coreForms are a random part as it is and in the two encodings that change it.
// In base64 it depends on where the secret begins: there are three, without the
// digits that depend on what is around.
func coreForms(core string) map[string]string {
	forms := map[string]string{
		"":        core,
		" in hex": hex.EncodeToString([]byte(core)),
		" in HEX": strings.ToUpper(hex.EncodeToString([]byte(core))),
	}
	for offset := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), core...))
		forms[" in base64 after "+itoa(offset)] = encoded[4 : len(encoded)-2]
	}
	return forms
}

// inFiles looks through every file below a folder, but those that are skipped,
// and gives what it found by path.
func (p *planted) inFiles(w *workspace, skip func(path string) bool) (found map[string][]string, files int) {
	w.t.Helper()
	found = map[string][]string{}
	err := filepath.WalkDir(w.base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || skip(path) {
			return ignoreGone(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return ignoreGone(err)
		}
		files++
		if here := p.in(append([]byte(path+"\n"), content...)); len(here) > 0 {
			found[path] = here
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found, files
}

// inProcesses looks through the command line and the environment of every living
// process of the workspace, and gives what it found by program.
func (p *planted) inProcesses(w *workspace) (found map[string][]string, programs map[string]int) {
	w.t.Helper()
	found, programs = map[string][]string{}, map[string]int{}
	for _, one := range w.processes() {
		first, _, _ := strings.Cut(one.command, " ")
		program := filepath.Base(first)
		if strings.HasPrefix(first, w.plugins) { // by its digest
			program = "plugin"
		} else if strings.HasPrefix(program, "forgeyard-runner") {
			program = "agent"
		}
		programs[program]++
		environment, _ := os.ReadFile(filepath.Join("/proc", itoa(one.pid), "environ")) // it may have ended
		found[program] = append(found[program], p.in(append(environment, one.command...))...)
	}
	return found, programs
}
