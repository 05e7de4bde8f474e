package pluginstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// A plugin's version is one OCI index, whose tag is the version ("+" is written
// "_"). For each platform it has a manifest whose config blob is the plugin's
// description and whose one layer is the bare executable. A signature is a
// manifest of its own whose subject is the index.
const (
	pluginType            = "application/vnd.forgeyard.fleet.plugin.v1"
	descriptionType       = "application/vnd.forgeyard.fleet.plugin.description.v1+json"
	binaryType            = "application/vnd.forgeyard.fleet.plugin.binary.v1"
	signatureArtifactType = "application/vnd.forgeyard.fleet.plugin.signature.v1"
	signatureType         = "application/vnd.forgeyard.fleet.plugin.signature.v1+text"

	// protocolAnnotation is the major version of the plugin contract, so that a
	// plugin for a newer manager is refused before anything of it is fetched.
	protocolAnnotation = "dev.forgeyard.fleet.protocol"
)

// What a registry or a layout may make this machine read.
const (
	maxIndexBytes       = 256 << 10
	maxManifestBytes    = 64 << 10
	maxDescriptionBytes = 1 << 20
	maxSignatureBytes   = 8 << 10
	maxBinaryBytes      = 512 << 20
	maxPlatforms        = 64
	maxSignatures       = 32
	maxTags             = 20_000
)

// release is an index as far as it was read: enough to decide on.
type release struct {
	descriptor ocispec.Descriptor
	version    string
	protocol   int
	// manifests are by platform ("linux_amd64").
	manifests map[string]ocispec.Descriptor
	raw       []byte
}

// build is what a release has for one platform.
type build struct {
	description, binary ocispec.Descriptor
	raw                 []byte
}

// fetchSmall reads something whole that may not be larger than limit, and checks
// that it is what its digest says.
func fetchSmall(ctx context.Context, from repository, d ocispec.Descriptor, what string, limit int64) ([]byte, error) {
	if err := checkDescriptor(d, what, limit); err != nil {
		return nil, err
	}
	in, err := from.fetch(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("fetch the %s %s: %w", what, d.Digest, err)
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, d.Size+1))
	if err != nil {
		return nil, fmt.Errorf("fetch the %s %s: %w", what, d.Digest, err)
	}
	if found := fleet.DigestBytes(content); found != d.Digest.String() {
		return nil, &TamperedError{What: what, Digest: d.Digest.String(), Found: found}
	}
	return content, nil
}

// checkDescriptor refuses what can't be checked or isn't worth fetching.
func checkDescriptor(d ocispec.Descriptor, what string, limit int64) error {
	switch {
	case !digestForm.MatchString(d.Digest.String()):
		return &ArtifactError{fmt.Sprintf("its %s has the digest %.80q, and only sha256 is read", what, d.Digest.String())}
	case d.Size < 0:
		return &ArtifactError{fmt.Sprintf("its %s has a negative size", what)}
	case d.Size > limit:
		return &ArtifactError{fmt.Sprintf("its %s is %s, and at most %s are read", what, byteCount(d.Size), byteCount(limit))}
	}
	return nil
}

// readRelease fetches an index and reads it.
func readRelease(ctx context.Context, from repository, d ocispec.Descriptor) (release, error) {
	r := release{descriptor: d, manifests: map[string]ocispec.Descriptor{}}
	raw, err := fetchSmall(ctx, from, d, "index", maxIndexBytes)
	if err != nil {
		return r, err
	}
	return r, r.parse(raw)
}

func (r *release) parse(raw []byte) error {
	r.raw = raw
	var index ocispec.Index
	if err := plainjson.Read(raw, &index); err != nil {
		return &ArtifactError{fmt.Sprintf("its index can't be read: %v", err)}
	}
	switch {
	case index.MediaType != ocispec.MediaTypeImageIndex || index.ArtifactType != pluginType:
		return &ArtifactError{
			fmt.Sprintf("it is not a forgeyard-fleet plugin but a %.100q of type %.100q", index.MediaType, index.ArtifactType),
		}
	case len(index.Manifests) == 0 || len(index.Manifests) > maxPlatforms:
		return &ArtifactError{
			fmt.Sprintf("its index has %d builds; from 1 to %d are read", len(index.Manifests), maxPlatforms),
		}
	}
	r.version = index.Annotations[ocispec.AnnotationVersion]
	var err error
	if r.protocol, err = strconv.Atoi(
		index.Annotations[protocolAnnotation],
	); err != nil || r.protocol < 1 ||
		r.protocol > 1000 {
		return &ArtifactError{
			fmt.Sprintf(
				"its index doesn't say which protocol it speaks: %s is %.40q",
				protocolAnnotation,
				index.Annotations[protocolAnnotation],
			),
		}
	}
	for _, manifest := range index.Manifests {
		if err := checkDescriptor(manifest, "manifest", maxManifestBytes); err != nil {
			return err
		}
		if manifest.Platform == nil {
			return &ArtifactError{"its index has a build without a platform"}
		}
		platform := manifest.Platform.OS + "_" + manifest.Platform.Architecture
		if _, twice := r.manifests[platform]; twice || !platformForm.MatchString(platform) {
			return &ArtifactError{fmt.Sprintf("its index has the platform %.40q, which is invalid or listed twice", platform)}
		}
		r.manifests[platform] = manifest
	}
	return nil
}

func (r release) platforms() []string { return slices.Sorted(maps.Keys(r.manifests)) }

// build reads the manifest of one platform.
func (r release) build(ctx context.Context, from repository, platform string) (build, error) {
	raw, err := fetchSmall(ctx, from, r.manifests[platform], "manifest for "+platform, maxManifestBytes)
	if err != nil {
		return build{}, err
	}
	var manifest ocispec.Manifest
	if err := plainjson.Read(raw, &manifest); err != nil {
		return build{}, &ArtifactError{fmt.Sprintf("its manifest for %s can't be read: %v", platform, err)}
	}
	if len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != binaryType ||
		manifest.Config.MediaType != descriptionType {
		return build{}, &ArtifactError{fmt.Sprintf("its manifest for %s isn't of a description and one executable", platform)}
	}
	b := build{description: manifest.Config, binary: manifest.Layers[0], raw: raw}
	return b, errors.Join(
		checkDescriptor(b.description, "description", maxDescriptionBytes),
		checkDescriptor(b.binary, "executable for "+platform, maxBinaryBytes),
	)
}

// builds reads the manifests of all platforms, without their executables.
func (r release) builds(ctx context.Context, from repository) (map[string]build, error) {
	builds := map[string]build{}
	for _, platform := range r.platforms() {
		var err error
		if builds[platform], err = r.build(ctx, from, platform); err != nil {
			return nil, err
		}
	}
	return builds, nil
}

// describe is a blob's descriptor.
func describe(mediaType string, content []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
}

// encode is JSON as it is pushed: the same bytes for the same value.
func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err)) // these types have nothing that JSON lacks
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func manifestOf(config ocispec.Descriptor, layer ocispec.Descriptor) []byte {
	return encode(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: pluginType, Config: config, Layers: []ocispec.Descriptor{layer},
	})
}
