//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The example plugin is built as its author would who has nothing of this
// repository but the SDK, and used for a fleet's whole life.
func TestAStrangersPlugin(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	source, built := w.path("source"), w.path("built")
	if err := os.CopyFS(source, os.DirFS("../../examples/plugin-process")); err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs("../../plugin-sdk")
	if err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(w.read("source/go.mod"), "=> ../../plugin-sdk", "=> "+sdk, 1)
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte(mod), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := build(source, ".", filepath.Join(built, "forgeyard-plugin-process")); err != nil {
		t.Fatal(err)
	}
	// Its provider block wants the agent's binary named.
	of := func(d definition) string {
		return strings.NewReplacer(
			"local = {", "process = {", `provider "local" "here" {`, `provider "process" "here" {`+"\n  runner = \""+filepath.Join(bin, "forgeyard-runner")+`"`,
			"provider.local.here", "provider.process.here",
		).Replace(d.String())
	}
	w.write(of(definition{min: 2, max: 3}))
	w.fleet(0, "plugin", "install", "--from", built)
	w.apply(0)
	w.shouldHave(2)
	w.write(of(definition{min: 3, max: 3, instance: `shell = "/bin/bash"`})) // immutable
	w.apply(0)
	w.shouldHave(3)
	w.write(of(definition{removed: true}))
	w.apply(0)
	w.shouldBeEmpty()
}
