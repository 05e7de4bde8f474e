package architecture

import (
	"encoding/json"
	"strings"
	"testing"
)

// A module that is used outside of the workspace builds from its own go.mod. The
// list of export data compiles every package and links nothing.
func TestEveryModuleBuildsByItself(t *testing.T) {
	for _, module := range modules(t) {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			goCommand(t, module, nil, "list", "-export", "-f", "", "./...")
		})
	}
}

// goMod is `go mod edit -json`.
type goMod struct {
	Require []struct{ Path string }
	Replace []struct {
		Old struct{ Path string }
		New struct{ Path, Version string }
	}
}

// Replacements count in the main module only, so each module has one for every
// module of the repository in its graph.
func TestEveryModuleReplacesTheRepositorysModules(t *testing.T) {
	for _, module := range modules(t) {
		var mod goMod
		if err := json.Unmarshal([]byte(goCommand(t, module, nil, "mod", "edit", "-json")), &mod); err != nil {
			t.Fatal(err)
		}
		replaced := map[string]bool{}
		for _, r := range mod.Replace {
			replaced[r.Old.Path] = true
			if !strings.HasPrefix(r.Old.Path, prefix) || !strings.HasPrefix(r.New.Path, "../") {
				t.Errorf(
					"%s replaces %s by %s; only modules of the repository are replaced, by their folder",
					module,
					r.Old.Path,
					r.New.Path,
				)
			}
		}
		if module == "plugin-sdk" && len(mod.Replace) > 0 {
			t.Errorf("plugin-sdk has a replace line, which the modules that use it would not see")
		}
		for _, line := range strings.Fields(
			goCommand(t, module, nil, "list", "-m", "-f", "{{if not .Main}}{{.Path}}{{end}}", "all")) {
			if strings.HasPrefix(line, prefix) && !replaced[line] {
				t.Errorf("%s has %s in its graph and no replace line for it", module, line)
			}
		}
	}
}
