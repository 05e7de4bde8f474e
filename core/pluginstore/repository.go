package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// repository is the place of one plugin: in a registry, or in an OCI layout.
// What isn't there is a *MissingError.
type repository interface {
	// tags are all there are, in any order.
	tags(ctx context.Context) ([]string, error)
	// resolve gives the index that a tag or a digest names.
	resolve(ctx context.Context, reference string) (ocispec.Descriptor, error)
	// fetch gives the bytes. A reader that is an io.Seeker can begin anywhere.
	fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
	// signatures are the manifests that claim to sign an index.
	signatures(ctx context.Context, index ocispec.Descriptor) ([]ocispec.Descriptor, error)
}

// target is a repository that takes releases.
type target interface {
	repository
	// push stores a blob or a manifest, unless it is there. Called again, content
	// starts from its beginning.
	push(ctx context.Context, d ocispec.Descriptor, content func() (io.ReadCloser, error)) error
	// tag makes a tag name an index that was pushed.
	tag(ctx context.Context, index ocispec.Descriptor, tag string) error
}

// isFinal says that trying again can't help.
func isFinal(err error) bool {
	var (
		access   *AccessError
		missing  *MissingError
		artifact *ArtifactError
		tampered *TamperedError
	)
	return errors.As(err, &tampered) || errors.As(err, &access) || errors.As(err, &missing) || errors.As(err, &artifact)
}

// openAt gives a blob of a repository from an offset on.
func openAt(from repository, d ocispec.Descriptor) open {
	return func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		in, err := from.fetch(ctx, d)
		if err != nil || offset == 0 {
			return in, err
		}
		if seeker, ok := in.(io.Seeker); ok {
			if _, err := seeker.Seek(offset, io.SeekStart); err == nil {
				return in, nil
			}
			// The place says that it can and can't: from the beginning, then.
			if err := in.Close(); err != nil {
				return nil, err
			}
			if in, err = from.fetch(ctx, d); err != nil {
				return nil, err
			}
		}
		if _, err := io.CopyN(io.Discard, in, offset); err != nil {
			return nil, errors.Join(err, in.Close())
		}
		return in, nil
	}
}

// Origin is where releases come from or go to.
type Origin struct {
	// Registry is how registries are spoken to.
	Registry Registry
	// Layout is an OCI layout that stands in for all registries; empty: none.
	Layout string
	// Mirrors stand in for registries by the prefix of a source.
	Mirrors []Mirror
}

// at gives the places of a source in the order in which they are asked.
func (o Origin) at(source string) ([]repository, error) {
	if o.Layout != "" {
		place, err := openLayout(o.Layout, source)
		return []repository{place}, err
	}
	for _, mirror := range o.Mirrors {
		rest, applies := strings.CutPrefix(source, mirror.Prefix)
		if !applies {
			continue
		}
		place, err := o.mirrored(mirror, source, rest)
		if err != nil {
			return nil, fmt.Errorf("use the mirror of %q: %w", mirror.Prefix, err)
		}
		if !mirror.Fallback {
			return []repository{place}, nil
		}
		original, err := o.Registry.repository(source)
		return []repository{place, original}, err
	}
	place, err := o.Registry.repository(source)
	return []repository{place}, err
}

func (o Origin) mirrored(m Mirror, source, rest string) (repository, error) {
	if dir, isDir := strings.CutPrefix(m.To, dirPrefix); isDir {
		return openLayout(dir, source)
	}
	return o.Registry.repository(m.To + rest)
}

// each tries the places of a source until one has what is asked for. What a
// mirror lacks, or one that is down, is a reason to ask the next; a refusal isn't.
func (o Origin) each(source string, try func(repository) error) error {
	places, err := o.at(source)
	if err != nil {
		return err
	}
	for i, place := range places {
		err = try(place)
		var (
			missing     *MissingError
			unreachable *UnreachableError
		)
		if i == len(places)-1 || !errors.As(err, &missing) && !errors.As(err, &unreachable) {
			break
		}
	}
	return err
}
