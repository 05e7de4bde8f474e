package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

func (a *app) pluginPublishCommand() *cobra.Command {
	var key, to, description string
	var unsigned, replace, asJSON bool
	c := &cobra.Command{
		Use:   "publish HOST/PATH[:VERSION] FILE…",
		Short: "Publish the builds of a plugin as one signed release",
		Long: "Push the builds of a plugin, one file per platform, to its OCI repository as one signed release, or " +
			"to an OCI\n" +
			"layout (--to). The platforms are read from the files, the version from the plugin. Credentials are those of\n" +
			"docker login.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			release := workspace.PluginRelease{Files: args[1:], Replace: replace}
			release.Source, release.Version = splitReference(args[0])
			switch {
			case key == "" && !unsigned:
				return errors.New(
					"--key is required: give a signing key (plugin keygen creates one), or pass --unsigned; users of an unsigned " +
						"plugin need allow_unsigned = true",
				)
			case key != "" && unsigned:
				return errors.New("--key and --unsigned can't be combined")
			case key != "":
				signing, err := a.signingKey(key)
				if err != nil {
					return err
				}
				release.Key = &signing
			}
			if description != "" {
				text, err := os.ReadFile(description)
				if err != nil {
					return fmt.Errorf("read the description: %w", err)
				}
				release.Description = text
			}
			published, err := a.publish(c.Context(), release, to)
			if err != nil {
				return err
			}
			return a.page().Published(published, asJSON)
		},
	}
	c.Flags().StringVar(&key, "key", "", "signing key: a file, env:NAME or file:/PATH")
	c.Flags().BoolVar(&unsigned, "unsigned", false, "publish without a signature")
	c.Flags().StringVar(&to, "to", "", "OCI layout to write to instead of the registry")
	c.Flags().
		StringVar(&description, "description", "",
			"file with the output of the plugin's --describe, if no build runs on this machine")
	c.Flags().BoolVar(&replace, "replace", false, "replace a release that has the same tag")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) publish(
	ctx context.Context,
	release workspace.PluginRelease,
	layout string,
) (pluginstore.Published, error) {
	log, err := a.log()
	if err != nil {
		return pluginstore.Published{}, err
	}
	plugins, err := workspace.PluginDirectory(a.lookupEnv)
	if err != nil {
		return pluginstore.Published{}, err
	}
	run, err := os.MkdirTemp("", "forgeyard-") // for the sockets; there is no installation here
	if err != nil {
		return pluginstore.Published{}, fmt.Errorf("create a directory for the plugin's socket: %w", err)
	}
	defer os.RemoveAll(run)
	origin, err := a.origin(layout)
	if err != nil {
		return pluginstore.Published{}, err
	}
	return workspace.PublishPlugin(ctx, release, origin, plugins, run, log)
}

// splitReference parts HOST/PATH:VERSION; a host's port isn't a version.
func splitReference(reference string) (source, version string) {
	if at := strings.LastIndexByte(reference, ':'); at > strings.LastIndexByte(reference, '/') {
		return reference[:at], reference[at+1:]
	}
	return reference, ""
}

// signingKey reads a key from where a reference says. It is held as long as the
// command lasts, and shown nowhere.
func (a *app) signingKey(reference string) (pluginstore.SigningKey, error) {
	fail := func(err error) (pluginstore.SigningKey, error) {
		return pluginstore.SigningKey{}, fmt.Errorf("read the signing key %s: %w", reference, err)
	}
	if name, isVariable := strings.CutPrefix(reference, "env:"); isVariable {
		text, set := a.lookupEnv(name)
		if !set {
			return fail(errors.New("the variable isn't set"))
		}
		key, err := pluginstore.ParseSigningKey([]byte(text))
		if err != nil {
			return fail(err)
		}
		return key, nil
	}
	path, err := filepath.Abs(strings.TrimPrefix(reference, "file:"))
	if err != nil {
		return fail(err)
	}
	text, err := secret.ReadFile(path)
	if err != nil {
		return fail(err)
	}
	key, err := pluginstore.ParseSigningKey(text)
	if err != nil {
		return fail(err)
	}
	return key, nil
}

func (a *app) pluginKeygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Create a key to sign plugins",
		Long: "Create a signing key. FILE gets the private key (mode 0600); FILE.pub and the output contain the public " +
			"key, which\n" +
			"users compare and trust. Existing files are never overwritten. Protect and back up the private key: anyone who\n" +
			"has it can publish as you, and without it your users must trust a new key.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := pluginstore.NewSigningKey(rand.Reader)
			if err != nil {
				return err
			}
			if err := writeNew(args[0], key.Secret(), 0o600); err != nil {
				return fmt.Errorf("write the signing key: %w", err)
			}
			if err := writeNew(args[0]+".pub", []byte(string(key.Public())+"\n"), 0o644); err != nil {
				return errors.Join(fmt.Errorf("write the public key: %w", err), os.Remove(args[0]))
			}
			a.printf("%s\n", key.Public())
			return nil
		},
	}
}

// writeNew writes a file that isn't there yet.
func writeNew(path string, content []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
