package pluginstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/go-version"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// binaryPrefix begins the file name of every plugin.
const binaryPrefix = "forgeyard-plugin-"

// findPlugin is the path of forgeyard-plugin-NAME in dir.
func findPlugin(dir, name string) (string, error) {
	if !fleet.ValidName(name) {
		return "", errors.New("a plugin's name begins with a lower-case letter and holds lower-case letters, digits, - and _")
	}
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("%w; give the directory that holds the built plugins with --from", err)
	}
	path := filepath.Join(dir, binaryPrefix+name+suffix)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("there is no file %s; %s", filepath.Base(path), othersIn(dir, name, suffix))
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable; run: chmod +x %s", path, path)
	}
	return path, nil
}

// othersIn says which plugins a directory has instead.
func othersIn(dir, name, suffix string) string {
	paths, err := filepath.Glob(filepath.Join(dir, binaryPrefix+"*"+suffix))
	if err != nil || len(paths) == 0 {
		return "the directory has no plugin at all. Build one into it, or give another with --from"
	}
	var names []string
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), binaryPrefix), suffix))
	}
	nearest := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.Distance(name, a, nil) - levenshtein.Distance(name, b, nil)
	})
	if levenshtein.Distance(name, nearest, nil) <= 2 {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return "the directory has: " + strings.Join(names, ", ")
}

// checkVersion compares what a binary says with what the fleet files ask for.
func checkVersion(described, constraint string) error {
	parsed, err := version.NewSemver(described)
	if err != nil {
		return fmt.Errorf("it says that its version is %q, which is none", described)
	}
	if constraint == "" {
		return nil
	}
	wanted, err := version.NewConstraint(constraint)
	if err != nil {
		return fmt.Errorf("required_plugins asks for version %q, which is no constraint", constraint)
	}
	if wanted.Check(parsed) {
		return nil
	}
	if parsed.Prerelease() != "" && wanted.Check(parsed.Core()) {
		return fmt.Errorf("it is version %s, a prerelease, which %q leaves out; to allow it, write version = %q in required_plugins", described, constraint, ">= "+described)
	}
	return fmt.Errorf("it is version %s, and required_plugins asks for %q; build a version that fits, or change required_plugins", described, constraint)
}
