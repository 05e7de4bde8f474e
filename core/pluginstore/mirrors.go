package pluginstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsimple"
)

// Mirror stands in for every source that begins with a prefix. It isn't trusted:
// digests and signatures are those of the original.
type Mirror struct {
	// Prefix is of sources, such as "ghcr.io/".
	Prefix string `hcl:"prefix"`
	// To is what stands in the prefix's place, such as "registry.example/ghcr/", or
	// dir: and an OCI layout that has the sources under their own names.
	To string `hcl:"to"`
	// Fallback: what the mirror doesn't have is asked of the original.
	Fallback bool `hcl:"fallback,optional"`
}

const dirPrefix = "dir:"

var registryPrefix = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/([a-z0-9._/-]*)$`)

// ReadMirrors reads the mirrors of the command line's configuration file, in
// their order. Without the file there are none.
func ReadMirrors(path string) ([]Mirror, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the mirrors: %w", err)
	}
	var file struct {
		Mirrors []Mirror `hcl:"mirror,block"`
	}
	if err := hclsimple.Decode("config.hcl", content, nil, &file); err != nil {
		return nil, fmt.Errorf(
			"read the mirrors in %s: %w; a block is mirror { prefix = \"ghcr.io/\", to = \"registry.example/ghcr/\" }, one "+
				"setting on each line",
			path,
			err,
		)
	}
	for _, mirror := range file.Mirrors {
		dir, isDir := strings.CutPrefix(mirror.To, dirPrefix)
		switch {
		case !registryPrefix.MatchString(mirror.Prefix):
			return nil, fmt.Errorf(
				"read the mirrors in %s: the prefix %q begins no source; write it as in \"ghcr.io/\"",
				path,
				mirror.Prefix,
			)
		case isDir && !filepath.IsAbs(dir):
			return nil, fmt.Errorf("read the mirrors in %s: the folder %q is not an absolute path", path, dir)
		case !isDir &&
			(!registryPrefix.MatchString(mirror.To) ||
				strings.HasSuffix(mirror.Prefix, "/") != strings.HasSuffix(mirror.To, "/")):
			return nil, fmt.Errorf(
				"read the mirrors in %s: to = %q can't stand for %q; write dir:/FOLDER, or a registry and path that ends in / "+
					"where the prefix does",
				path,
				mirror.To,
				mirror.Prefix,
			)
		}
	}
	return file.Mirrors, nil
}
