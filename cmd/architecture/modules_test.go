package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	// root is the repository, as seen from this folder.
	root = "../.."
	// prefix begins the path of every module of the repository but the example,
	// which stands for a third party's.
	prefix = "github.com/forgeyard/forgeyard-fleet/"
)

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	ForTest    string // set for the test variant of a package
	Standard   bool
	DepOnly    bool
	Imports    []string
	Deps       []string
	// Test files' imports: in the package, and in its _test package.
	TestImports, XTestImports []string
	Module                    *struct{ Path string }
}

// own says that the package is of the module that was listed, and no test variant.
func (p pkg) own() bool {
	return !p.DepOnly && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test")
}

// goCommand runs the go command in a folder of the repository as a third party
// would who has that one module: without the workspace.
func goCommand(t *testing.T, folder string, env []string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = filepath.Join(root, folder)
	c.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("in %s: go %s: %v\n%s", folder, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// decode reads the go command's stream of JSON values.
func decode[T any](t *testing.T, text string) []T {
	t.Helper()
	var all []T
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var one T
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("the go command's answer can't be read: %v", err)
		}
		all = append(all, one)
	}
}

var listed struct {
	sync.Mutex
	packages map[string][]pkg
}

// packages are a module's own packages with everything they depend on, tests
// included. The go command is asked once for each module and system.
func packages(t *testing.T, module string, env ...string) []pkg {
	t.Helper()
	listed.Lock()
	defer listed.Unlock()
	key := module + " " + strings.Join(env, " ")
	if all, known := listed.packages[key]; known {
		return all
	}
	all := decode[pkg](t, goCommand(t, module, env, "list", "-deps", "-test",
		"-json=ImportPath,Name,Dir,ForTest,Standard,DepOnly,Imports,Deps,TestImports,XTestImports,Module", "./..."))
	if listed.packages == nil {
		listed.packages = map[string][]pkg{}
	}
	listed.packages[key] = all
	return all
}

// dependencies are all packages that one package of a module links, and their
// modules by path.
func dependencies(t *testing.T, module, path string, env ...string) (imports []string, modules map[string]bool) {
	t.Helper()
	byPath := map[string]pkg{}
	for _, p := range packages(t, module, env...) {
		byPath[p.ImportPath] = p
	}
	if _, found := byPath[path]; !found {
		t.Fatalf("module %s has no package %s", module, path)
	}
	modules = map[string]bool{}
	for _, name := range byPath[path].Deps {
		p := byPath[name]
		if p.Standard {
			continue
		}
		imports = append(imports, name)
		if p.Module != nil {
			modules[p.Module.Path] = true
		}
	}
	return imports, modules
}

// modules are the folders of the repository's modules.
func modules(t *testing.T) []string {
	t.Helper()
	var found []string
	walk(t, func(path string, entry fs.DirEntry) {
		if entry.Name() == "go.mod" {
			found = append(found, filepath.ToSlash(filepath.Dir(path)))
		}
	})
	if len(found) < 5 {
		t.Fatalf("only the modules %v were found", found)
	}
	return found
}

// walk visits the repository's files, by their path from its root. Folders that
// the go command ignores and build output are left out.
func walk(t *testing.T, visit func(path string, entry fs.DirEntry)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			hidden := strings.HasPrefix(name, ".") && path != root
			if hidden || name == "testdata" || name == "bin" || name == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		visit(relative, entry)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
