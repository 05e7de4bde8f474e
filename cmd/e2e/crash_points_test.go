//go:build linux

package e2e

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listed are the names of all points, from the file that lists them.
func listed(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if spec.Doc == nil {
			t.Errorf("%s: %s has no sentence of where it lies", file, spec.Names[0].Name)
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		return true
	})
	if len(names) < 10 {
		t.Fatalf("%s can't be read: it lists %v", file, names)
	}
	return names
}

// reached are the names in the matrices.
func reached() []string {
	names := map[string]bool{}
	for _, row := range slices.Concat(matrix, pluginMatrix) {
		for _, points := range row.points {
			for _, point := range strings.Split(points, ",") {
				name, _, _ := strings.Cut(point, "#")
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestCrashMatrixReachesEveryPoint(t *testing.T) {
	t.Parallel()
	points := slices.Concat(
		listed(t, "../../core/failpoint/points.go"),
		listed(t, "../../plugins/local/internal/failpoint/points.go"))
	slices.Sort(points)
	if got := reached(); !slices.Equal(got, points) {
		t.Errorf("the matrix reaches\n%v\nand there are\n%v", got, points)
	}
}

// A point costs nothing where it can't be armed: not even its name is there.
func TestCrashPointsAreInNoOrdinaryBuild(t *testing.T) {
	t.Parallel()
	armed, err := crashBin()
	if err != nil {
		t.Fatal(err)
	}
	for program, file := range map[string]string{
		"forgeyard-fleet":        "../../core/failpoint/points.go",
		"forgeyard-plugin-local": "../../plugins/local/internal/failpoint/points.go",
	} {
		with, without := contents(t, filepath.Join(armed, program)), contents(t, filepath.Join(bin, program))
		for _, name := range append(listed(t, file), "FORGEYARD_FAILPOINT", "FORGEYARD_PLUGIN_FAILPOINT",
			"FORGEYARD_CERTIFICATE_LIFE") {
			if bytes.Contains(without, []byte(name)) {
				t.Errorf("%s holds %q without the build tag", program, name)
			}
			if !strings.HasPrefix(name, "FORGEYARD") && !bytes.Contains(with, []byte(name)) {
				t.Errorf("%s passes no point %q with the build tag", program, name)
			}
		}
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestCrashOfTheTestsThemselvesLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	tests := exec.Command("sh", "-c", `setsid sleep 1000 & echo $! >"$0"/left; kill -9 $$`, top)
	if err := guarded(tests, top); err != nil {
		t.Fatal(err)
	}
	pid, err := pidIn(filepath.Join(top, "left"))
	if err != nil || tests.ProcessState.Exited() {
		t.Fatalf("the tests ended with %v, %v", tests.ProcessState, err)
	}
	// A process that ended and wasn't reaped yet has no environment.
	if environment, err := os.ReadFile(
		filepath.Join("/proc", strconv.Itoa(pid), "environ"),
	); err == nil &&
		bytes.Contains(environment, []byte(top)) {
		t.Errorf("process %d outlived the tests that started it", pid)
	}
}
