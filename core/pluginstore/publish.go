package pluginstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Release is a plugin's version as its author publishes it.
type Release struct {
	// Source is the repository, HOST/PATH, that users will name.
	Source   string
	Version  string
	Protocol int
	// Description is what the plugin says of itself, as JSON.
	Description []byte
	// Files are the executables by platform.
	Files map[string]string
	// Key signs; nil: the release is unsigned.
	Key *SigningKey
	// Replace moves a tag that names something else already.
	Replace bool
}

// Published is what a release became.
type Published struct {
	Source  string            `json:"source"`
	Version string            `json:"version"`
	Index   string            `json:"index"`
	Signer  PublicKey         `json:"signer,omitempty"`
	Builds  map[string]string `json:"builds"`
}

// Publish pushes a release to the repository that it is of, or under that name
// into an OCI layout. The same files give the same digests.
func Publish(ctx context.Context, to Origin, r Release) (Published, error) {
	fail := func(err error) (Published, error) {
		return Published{}, fmt.Errorf("publish %s %s: %w", r.Source, r.Version, err)
	}
	if _, err := version.NewSemver(r.Version); err != nil || versionOf(tagOf(r.Version)) == nil {
		return fail(fmt.Errorf(
			"the plugin says that its version is %q; a version is three numbers, such as 1.4.2, without a v", r.Version))
	}
	place, err := to.target(r.Source)
	if err != nil {
		return fail(err)
	}
	published := Published{Source: r.Source, Version: r.Version, Builds: map[string]string{}}
	var manifests []ocispec.Descriptor
	for _, platform := range slices.Sorted(maps.Keys(r.Files)) {
		manifest, binary, err := r.pushBuild(ctx, place, platform)
		if err != nil {
			return fail(err)
		}
		manifests, published.Builds[platform] = append(manifests, manifest), binary
	}
	raw := encode(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, ArtifactType: pluginType,
		Manifests: manifests,
		Annotations: map[string]string{
			ocispec.AnnotationVersion: r.Version, ocispec.AnnotationSource: r.Source,
			protocolAnnotation: strconv.Itoa(r.Protocol),
		},
	})
	index := describe(ocispec.MediaTypeImageIndex, raw)
	var checked release
	checked.manifests = map[string]ocispec.Descriptor{}
	if err := checked.parse(raw); err != nil {
		return fail(err)
	}
	if err := r.mayTag(ctx, place, index); err != nil {
		return fail(err)
	}
	published.Index = index.Digest.String()
	if err := place.push(ctx, index, content(raw)); err != nil {
		return fail(err)
	}
	// Signed before it has a tag, so that it is never found unsigned.
	if r.Key != nil {
		published.Signer = r.Key.Public()
		document := r.Key.sign(statement{r.Source, r.Version, published.Index})
		if err := pushSignature(ctx, place, index, document); err != nil {
			return fail(err)
		}
	}
	if err := place.tag(ctx, index, tagOf(r.Version)); err != nil {
		return fail(err)
	}
	return published, nil
}

// mayTag refuses to make another thing of a version that users have.
func (r Release) mayTag(ctx context.Context, place target, index ocispec.Descriptor) error {
	there, err := place.resolve(ctx, tagOf(r.Version))
	var missing *MissingError
	switch {
	case errors.As(err, &missing), err == nil && there.Digest == index.Digest, r.Replace:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf(
		"this version is published already, as %s, and this would be %s; who locked it would be warned of a moved tag: "+
			"raise the version, or pass --replace", there.Digest, index.Digest)
}

func (r Release) pushBuild(ctx context.Context, place target, platform string) (manifest ocispec.Descriptor,
	binary string, err error) {
	path := r.Files[platform]
	info, err := os.Stat(path)
	if err != nil {
		return manifest, "", err
	}
	if info.Size() > maxBinaryBytes {
		return manifest, "",
			fmt.Errorf("%s is %s, and at most %s are installed", path, byteCount(info.Size()), byteCount(maxBinaryBytes))
	}
	sum, err := digestOfFile(path)
	if err != nil {
		return manifest, "", err
	}
	layer := ocispec.Descriptor{MediaType: binaryType, Digest: digest.Digest(sum), Size: info.Size()}
	if err := checkDescriptor(layer, "executable for "+platform, maxBinaryBytes); err != nil {
		return manifest, "", err
	}
	description := describe(descriptionType, r.Description)
	if err := checkDescriptor(description, "description", maxDescriptionBytes); err != nil {
		return manifest, "", err
	}
	raw := manifestOf(description, layer)
	manifest = describe(ocispec.MediaTypeImageManifest, raw)
	manifest.ArtifactType = pluginType
	os, architecture, _ := strings.Cut(platform, "_")
	manifest.Platform = &ocispec.Platform{OS: os, Architecture: architecture}
	if err := place.push(ctx, layer, file(path)); err != nil {
		return manifest, "", err
	}
	if err := place.push(ctx, description, content(r.Description)); err != nil {
		return manifest, "", err
	}
	return manifest, sum, place.push(ctx, withoutPlatform(manifest), content(raw))
}

func withoutPlatform(d ocispec.Descriptor) ocispec.Descriptor {
	d.Platform = nil
	return d
}

func pushSignature(ctx context.Context, place target, index ocispec.Descriptor, document []byte) error {
	layer := describe(signatureType, document)
	if err := place.push(ctx, layer, content(document)); err != nil {
		return err
	}
	empty := ocispec.DescriptorEmptyJSON
	if err := place.push(ctx, empty, content(empty.Data)); err != nil {
		return err
	}
	raw := signatureManifest(index, layer)
	manifest := describe(ocispec.MediaTypeImageManifest, raw)
	manifest.ArtifactType = signatureArtifactType
	return place.push(ctx, manifest, content(raw))
}

// target is where a source's releases are pushed to. Mirrors take none.
func (o Origin) target(source string) (target, error) {
	if o.Layout != "" {
		return makeLayout(o.Layout, source)
	}
	return o.Registry.repository(source)
}

func content(raw []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
}

func file(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}
