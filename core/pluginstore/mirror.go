package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Destination is where a mirror is made: an OCI layout, which keeps the sources'
// names, or the repositories of a registry below a prefix.
type Destination struct {
	Layout string
	// Prefix stands in the place of a source's host: "registry.example/ghcr/".
	Prefix string
}

func (d Destination) target(registry Registry, source string) (target, error) {
	if d.Layout != "" {
		return makeLayout(d.Layout, source)
	}
	_, path, _ := strings.Cut(source, "/")
	return registry.repository(strings.TrimSuffix(d.Prefix, "/") + "/" + path)
}

// Mirror copies a locked release with its signatures. Everything is copied as it
// is, so that locks and trust hold there, too. Of executables those of the
// platforms come along; none named: all.
func (i Installer) Mirror(ctx context.Context, locked LockedPlugin, to Destination, platforms []string) error {
	if locked.Source == SourceDev {
		return fmt.Errorf(
			"plugin %q is a build of a developer (plugin install --dev), which can't be mirrored; publish it first",
			locked.Name,
		)
	}
	r := Required{Name: locked.Name, Source: locked.Source}
	place, err := to.target(i.Origin.Registry, locked.Source)
	if err != nil {
		return wrap(r, "mirror", err)
	}
	err = i.Origin.each(locked.Source, func(from repository) error {
		found, err := i.locked(ctx, from, locked)
		if err != nil {
			return err
		}
		for _, platform := range platforms {
			if _, has := found.manifests[platform]; !has {
				return &NoBuildError{Plugin: locked.Name, Version: locked.Version, Platform: platform, Builds: found.platforms()}
			}
		}
		return i.copyRelease(ctx, from, place, locked, found, platforms)
	})
	return wrap(r, "mirror", err)
}

func (i Installer) copyRelease(
	ctx context.Context,
	from repository,
	to target,
	locked LockedPlugin,
	found release,
	platforms []string,
) error {
	builds, err := found.builds(ctx, from)
	if err != nil {
		return err
	}
	for _, platform := range found.platforms() {
		b := builds[platform]
		parts := []ocispec.Descriptor{b.description}
		if len(platforms) == 0 || slices.Contains(platforms, platform) {
			parts = append(parts, b.binary)
			i.Progress(Progress{Plugin: locked.Name, Version: locked.Version, Platform: platform, Size: b.binary.Size})
		}
		for _, part := range parts {
			if err := to.push(ctx, part, func() (io.ReadCloser, error) { return from.fetch(ctx, part) }); err != nil {
				return err
			}
		}
		if err := to.push(ctx, withoutPlatform(found.manifests[platform]), content(b.raw)); err != nil {
			return err
		}
	}
	if err := to.push(ctx, found.descriptor, content(found.raw)); err != nil {
		return err
	}
	signatures, err := signaturesOf(ctx, from, found.descriptor)
	if err != nil {
		return err
	}
	for _, s := range signatures {
		empty := ocispec.DescriptorEmptyJSON
		if err := errors.Join(
			to.push(ctx, empty, content(empty.Data)),
			to.push(ctx, s.document, content(s.documentRaw)),
		); err != nil {
			return err
		}
		if err := to.push(ctx, s.manifest, content(s.manifestRaw)); err != nil {
			return err
		}
	}
	return to.tag(ctx, found.descriptor, tagOf(locked.Version))
}

// VerifySignature asks where a plugin came from whether who signed what is
// locked still vouches for it.
func (i Installer) VerifySignature(ctx context.Context, locked LockedPlugin) error {
	err := i.Origin.each(locked.Source, func(from repository) error {
		_, err := i.locked(ctx, from, locked)
		return err
	})
	return wrap(Required{Name: locked.Name, Source: locked.Source}, "verify the signature of", err)
}
