package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
)

// PluginRelease is what an author publishes.
type PluginRelease struct {
	// Source is HOST/PATH; Version, where it is given, must be the plugin's own.
	Source, Version string
	Files           []string
	// Description is what --describe printed, for a plugin that can't be started
	// here; empty: the executable of this machine is asked.
	Description []byte
	Key         *pluginstore.SigningKey
	Replace     bool
}

// PublishPlugin describes a plugin and pushes it.
func PublishPlugin(
	ctx context.Context,
	release PluginRelease,
	to pluginstore.Origin,
	plugins, run string,
	log *slog.Logger,
) (pluginstore.Published, error) {
	fail := func(err error) (pluginstore.Published, error) {
		return pluginstore.Published{}, fmt.Errorf("publish %s: %w", release.Source, err)
	}
	files, err := pluginstore.FilesByPlatform(release.Files)
	if err != nil {
		return fail(err)
	}
	description := release.Description
	if description == nil {
		here, there := files[Platform]
		if !there {
			return fail(
				fmt.Errorf(
					"none of the files runs on this machine (%s), so that the plugin can't be asked what it is; add that build, or "+
						"pass --description FILE with what the plugin prints for --describe",
					Platform,
				),
			)
		}
		if description, err = describeFile(ctx, here, plugins, run, log); err != nil {
			return fail(err)
		}
	}
	info, err := pluginhost.DecodeInfo(description)
	if err != nil {
		return fail(err)
	}
	if release.Version != "" && release.Version != info.Schemas.Version {
		return fail(
			fmt.Errorf(
				"the plugin says that it is version %s, and %s was asked for; publish it as that version, or build it again",
				info.Schemas.Version,
				release.Version,
			),
		)
	}
	plain, err := canonical(info.Raw)
	if err != nil {
		return fail(err)
	}
	return pluginstore.Publish(ctx, to, pluginstore.Release{
		Source: release.Source, Version: info.Schemas.Version, Protocol: pluginhost.Protocol,
		Description: plain, Files: files, Key: release.Key, Replace: release.Replace,
	})
}

// canonical is the same JSON in the same bytes, whichever program wrote it.
func canonical(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func describeFile(ctx context.Context, path, plugins, run string, log *slog.Logger) ([]byte, error) {
	binaries, err := pluginstore.Open(plugins)
	if err != nil {
		return nil, err
	}
	stored, digest, err := binaries.Add(ctx, path)
	if err != nil {
		return nil, err
	}
	raw, _, _, err := describePlugin(
		ctx,
		pluginhost.Launch{Plugin: "plugin", Path: stored, Digest: digest, RunDir: run, Logger: log},
	)
	if err != nil {
		return nil, fmt.Errorf("ask %s what it is: %w", path, err)
	}
	return raw, nil
}
