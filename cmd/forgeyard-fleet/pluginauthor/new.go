package pluginauthor

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// scaffold are the files of a new plugin. The suffix keeps the go command away.
//
//go:embed scaffold/*.txt
var scaffold embed.FS

// scaffoldFiles are where the files go.
var scaffoldFiles = map[string]string{
	"main.go.txt": "main.go", "provider.go.txt": "provider.go", "provider_test.go.txt": "provider_test.go",
	"plugin.hcl.txt": "testdata/plugin.hcl", "README.md.txt": "README.md", "gitignore.txt": ".gitignore",
	"ci.yml.txt": ".github/workflows/ci.yml", "release.yml.txt": ".github/workflows/release.yml",
}

// sdkModule is the one module that a plugin needs.
const sdkModule = "github.com/forgeyard/forgeyard-fleet/plugin-sdk"

// newPluginName is what the SDK takes for a plugin's name.
var newPluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (s Session) NewCommand() *cobra.Command {
	var sdk string
	c := &cobra.Command{
		Use:   "new NAME --sdk DIR",
		Short: "Write the source of a new provider plugin",
		Long: "Write a Go module to the directory forgeyard-plugin-NAME: a working provider whose instances are " +
			"directories, its\n" +
			"test, the configuration for plugin test, and workflows for CI and releases. The SDK has no release yet, so " +
			"go.mod refers to the checkout given\n" +
			"with --sdk. Add a LICENSE of your choice.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := newPlugin(args[0], sdk)
			if err != nil {
				return err
			}
			s.Page.Printf(
				"Wrote %s: a plugin that builds and passes its tests. Add a LICENSE.\n\nNext steps:\n  cd %[1]s\n  go test "+
					"./...\n  go build -o bin/%[1]s .\n"+
					"  forgeyard-fleet plugin test bin/%[1]s --config testdata/plugin.hcl --allow-create\n",
				folder,
			)
			return nil
		},
	}
	c.Flags().StringVar(&sdk, "sdk", "", "directory plugin-sdk in a checkout of forgeyard-fleet")
	return c
}

// newPlugin writes the folder, complete or not at all.
func newPlugin(name, sdk string) (folder string, err error) {
	folder = "forgeyard-plugin-" + name
	switch {
	case !newPluginName.MatchString(name):
		return "", fmt.Errorf(
			"invalid plugin name %q: use lower-case letters, digits and dashes, starting with a letter",
			name,
		)
	case sdk == "":
		return "", errors.New("--sdk DIR is required: clone forgeyard-fleet and give its directory plugin-sdk")
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s already exists; nothing was written. Choose another name or move it away", folder)
	}
	if sdk, err = filepath.Abs(sdk); err != nil {
		return "", fmt.Errorf("find the SDK: %w", err)
	}
	mod, sum, err := moduleFiles(folder, sdk)
	if err != nil {
		return "", err
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return "", fmt.Errorf("find the current directory: %w", err)
	}
	draft, err := os.MkdirTemp(here, ".new-plugin-")
	if err != nil {
		return "", fmt.Errorf("create the directory: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(draft))
		}
	}()
	replace := strings.NewReplacer("@NAME@", name, "@FOLDER@", filepath.ToSlash(filepath.Join(here, folder)))
	files := map[string]string{"go.mod": mod, "go.sum": sum}
	for from, to := range scaffoldFiles {
		content, err := scaffold.ReadFile("scaffold/" + from)
		if err != nil {
			return "", fmt.Errorf("read the files of a new plugin: %w", err)
		}
		files[to] = replace.Replace(string(content))
	}
	for to, content := range files {
		path := filepath.Join(draft, filepath.FromSlash(to))
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(content), 0o644),
		); err != nil {
			return "", fmt.Errorf("write %s: %w", to, err)
		}
	}
	if err := errors.Join(os.Chmod(draft, 0o755), os.Rename(draft, filepath.Join(here, folder))); err != nil {
		return "", fmt.Errorf("write %s: %w", folder, err)
	}
	return folder, nil
}

// moduleFiles are go.mod and go.sum for the SDK of a checkout: what it needs is
// what the plugin needs, so that nothing has to be looked up.
func moduleFiles(module, sdk string) (mod, sum string, err error) {
	content, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil {
		return "", "", fmt.Errorf(
			"read the SDK: %w; --sdk must be the directory plugin-sdk in a checkout of forgeyard-fleet",
			err,
		)
	}
	sums, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		return "", "", fmt.Errorf("read the SDK: %w", err)
	}
	version, needs := "", ""
	isSDK := false
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "module":
			isSDK = words[1] == sdkModule
		case len(words) == 2 && words[0] == "go":
			version = words[1]
		case len(words) >= 2 && strings.HasPrefix(line, "\t") && strings.HasPrefix(words[1], "v") &&
			!strings.Contains(words[0], "/cmd/"):
			needs += fmt.Sprintf("\t%s %s // indirect\n", words[0], words[1])
		}
	}
	if !isSDK {
		return "", "", fmt.Errorf(
			"%s isn't the SDK; --sdk must be the directory plugin-sdk in a checkout of forgeyard-fleet",
			sdk,
		)
	}
	mod = fmt.Sprintf(
		"module %s\n\ngo %s\n\nrequire %s v0.0.0\n\nrequire (\n%s)\n\n// Until the SDK has a release.\nreplace "+
			"%[3]s => %[5]s\n",
		module,
		version,
		sdkModule,
		needs,
		sdk,
	)
	return mod, string(sums), nil
}
