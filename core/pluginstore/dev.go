package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/go-version"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Describe asks a stored binary what it is: its description as JSON, its version and
// the major version of the contract that it speaks.
type Describe func(ctx context.Context, path, digest string) (info []byte, version string, protocol int, err error)

// InstallBuild takes forgeyard-plugin-NAME out of a folder of built plugins: an
// author's own unsigned build for this machine. It is put into the
// store and the stored copy is described, so that nothing runs that isn't exactly
// what the lock will name. A version outside the constraint is refused; its blob
// stays in the store, where it does no harm.
func (s *Store) InstallBuild(
	ctx context.Context,
	dir, name, constraint string,
	describe Describe,
) (LockedPlugin, error) {
	fail := func(err error) (LockedPlugin, error) {
		return LockedPlugin{}, fmt.Errorf("install plugin %q from %s: %w", name, dir, err)
	}
	source, err := findPlugin(dir, name)
	if err != nil {
		return fail(err)
	}
	path, digest, err := s.Add(ctx, source)
	if err != nil {
		return fail(err)
	}
	info, described, protocol, err := describe(ctx, path, digest)
	if err != nil {
		return fail(fmt.Errorf("ask it what it is: %w", err))
	}
	if err := checkVersion(described, constraint); err != nil {
		return fail(err)
	}
	if err := s.SaveInfo(digest, info); err != nil {
		return fail(err)
	}
	locked := LockedPlugin{
		Name: name, Source: SourceDev, Version: described, Constraint: constraint, Protocol: protocol,
		Binaries: map[string]string{HostPlatform(): digest},
	}
	if err := locked.Validate(); err != nil {
		return fail(err)
	}
	return locked, nil
}

// Add copies a file into the store, and says where the copy is. A file that is
// rebuilt meanwhile isn't what was asked for, and is refused.
func (s *Store) Add(ctx context.Context, source string) (path, digest string, err error) {
	info, err := os.Stat(source)
	if err != nil {
		return "", "", err
	}
	if digest, err = digestOfFile(source); err != nil {
		return "", "", err
	}
	if path, err = s.blobPath(digest); err != nil {
		return "", "", err
	}
	_, err = s.put(
		ctx,
		wanted{digest: digest, size: info.Size(), open: func(_ context.Context, offset int64) (io.ReadCloser, error) {
			file, err := os.Open(source)
			if err == nil {
				_, err = file.Seek(offset, io.SeekStart)
			}
			return file, err
		}},
	)
	return path, digest, err
}

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
		return "", fmt.Errorf("%w; give the folder that holds the built plugins with --dev", err)
	}
	path := filepath.Join(dir, binaryPrefix+name+suffix)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("no file %s; %s", filepath.Base(path), othersIn(dir, name, suffix))
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable; run: chmod +x %s", path, path)
	}
	return path, nil
}

// othersIn says which plugins a directory has instead.
func othersIn(dir, name, suffix string) string {
	paths, err := filepath.Glob(filepath.Join(dir, binaryPrefix+"*"+suffix))
	if err != nil || len(paths) == 0 {
		return "the directory has no plugin at all. Build one into it, or give another with --dev"
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
		return fmt.Errorf("it reports the version %q, which is not a version", described)
	}
	if constraint == "" {
		return nil
	}
	wanted, err := version.NewConstraint(constraint)
	if err != nil {
		return fmt.Errorf("invalid version constraint %q in required_plugins: write one such as \"~> 1.2\"", constraint)
	}
	if wanted.Check(parsed) {
		return nil
	}
	if parsed.Prerelease() != "" && wanted.Check(parsed.Core()) {
		return fmt.Errorf(
			"it is version %s, a prerelease, which %q leaves out; to allow it, write version = %q in required_plugins",
			described,
			constraint,
			">= "+described,
		)
	}
	return fmt.Errorf(
		"it is version %s, and required_plugins asks for %q; build a version that fits, or change required_plugins",
		described,
		constraint,
	)
}
