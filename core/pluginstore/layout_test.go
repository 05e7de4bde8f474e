package pluginstore

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestAFolderThatIsNoLayoutIsSaidToBeNone(t *testing.T) {
	empty, builds := t.TempDir(), t.TempDir()
	writeBuild := filepath.Join(builds, binaryPrefix+"example")
	if err := os.WriteFile(writeBuild, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir() // as make build leaves it: programs, and a layout below them
	if err := errors.Join(
		os.WriteFile(filepath.Join(bin, binaryPrefix+"example"), []byte("x"), 0o755),
		os.Mkdir(filepath.Join(bin, "plugins"), 0o755),
		os.WriteFile(filepath.Join(bin, "plugins", ocispec.ImageLayoutFile), []byte("{}"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	for dir, says := range map[string]string{empty: "plugin mirror", builds: "--dev " + builds,
		bin:                          "did you mean --from " + filepath.Join(bin, "plugins") + "?",
		filepath.Join(empty, "none"): "none"} {
		u := newUser(t, Origin{Layout: dir}, example, "")
		refused[error](u, u.plain, says)
	}
	if _, err := Publish(t.Context(), Origin{Layout: builds}, releaseOf(t, example, "1.0.0", nil)); err == nil {
		t.Error("somebody's folder became a layout")
	}
}

func TestWhatIsNotInTheLayoutIsNamed(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "1.0.0", nil))
	u := newUser(t, origin, "registry.example/acme/fleet-other", "")
	refused[*MissingError](u, u.plain, origin.Layout, "registry.example/acme/fleet-other")
}

func TestLayoutWithAnotherDigestOfTheVersionNamesUpdate(t *testing.T) {
	key, first, second := newKey(t), layoutOf(t), layoutOf(t)
	publish(t, first, releaseOf(t, example, "1.0.0", key))
	publish(t, second, releaseOf(t, example, "1.0.0", key, func(r *Release) {
		r.Description = []byte(`{"name":"example","version":"1.0.0","built":2}`)
	}))
	one, another := newUser(t, first, example, ""), newUser(t, second, example, "")
	one.Trusted, another.Trusted = []PublicKey{key.Public()}, []PublicKey{key.Public()}
	one.mustInstall()
	another.lock = one.lock
	refused[*OtherDigestError](
		another,
		another.plain,
		second.Layout,
		"has 1.0.0 with another digest (sha256:",
		"forgeyard-fleet plugin update example",
	)
	if done, err := another.update(); err != nil || done.Version != "1.0.0" {
		t.Errorf("the advice doesn't work: %+v, %v", done, err)
	}
}

// blobOf is the file of a digest in a layout.
func blobOf(origin Origin, digest string) string {
	return filepath.Join(origin.Layout, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

// Whatever is put into a layout, nothing outside of it is read, and no more than
// a release may have.
func TestAHostileLayout(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	index := func(t *testing.T, origin Origin, change func(*ocispec.Index)) {
		path := filepath.Join(origin.Layout, "index.json")
		var all ocispec.Index
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		change(&all)
		if err := os.WriteFile(path, encode(all), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(t *testing.T, path string, by func(string) error) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := by(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, one := range map[string]struct {
		corrupt func(*testing.T, Origin, Published)
		says    string
	}{
		"a binary that is a link to elsewhere": {func(t *testing.T, o Origin, p Published) {
			replace(t, blobOf(o, p.Builds[HostPlatform()]), func(path string) error { return os.Symlink(secret, path) })
		}, "not a regular file"},
		"a binary that is a link to a device": {func(t *testing.T, o Origin, p Published) {
			replace(t, blobOf(o, p.Builds[HostPlatform()]), func(path string) error { return os.Symlink("/dev/zero", path) })
		}, "not a regular file"},
		"blobs that are a link to elsewhere": {func(t *testing.T, o Origin, p Published) {
			moved := filepath.Join(t.TempDir(), "moved")
			if err := os.Rename(filepath.Join(o.Layout, "blobs"), moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(moved, filepath.Join(o.Layout, "blobs")); err != nil {
				t.Fatal(err)
			}
		}, "escapes"},
		"an index of contents that is a pipe": {func(t *testing.T, o Origin, p Published) {
			replace(t, filepath.Join(o.Layout, "index.json"), func(path string) error { return os.Mkdir(path, 0o755) })
		}, "not a regular file"},
		"a digest that is a path": {func(t *testing.T, o Origin, p Published) {
			index(t, o, func(all *ocispec.Index) { all.Manifests[0].Digest = digest.Digest("sha256:../../../secret") })
		}, "only sha256"},
		"another kind of digest": {func(t *testing.T, o Origin, p Published) {
			index(t, o, func(all *ocispec.Index) {
				all.Manifests[0].Digest = digest.Digest("sha512:" + strings.Repeat("a", 128))
			})
		}, "only sha256"},
		"an index larger than memory": {func(t *testing.T, o Origin, p Published) {
			index(t, o, func(all *ocispec.Index) { all.Manifests[0].Size = 1 << 50 })
		}, "at most 256.0 KiB are read"},
		"a negative size": {func(t *testing.T, o Origin, p Published) {
			index(t, o, func(all *ocispec.Index) { all.Manifests[0].Size = -1 })
		}, "negative"},
		"an index of contents that is too large": {func(t *testing.T, o Origin, p Published) {
			if err := os.Truncate(filepath.Join(o.Layout, "index.json"), maxLayoutIndexBytes+1); err != nil {
				t.Fatal(err)
			}
		}, "at most 8.0 MiB are read"},
		"an index of contents that is not valid JSON": {func(t *testing.T, o Origin, p Published) {
			if err := os.WriteFile(filepath.Join(o.Layout, "index.json"), []byte("[[["), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "read the OCI layout"},
		"a changed binary": {func(t *testing.T, o Origin, p Published) {
			path := blobOf(o, p.Builds[HostPlatform()])
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not the one that was asked for"},
		"a binary that is cut off": {func(t *testing.T, o Origin, p Published) {
			if err := os.Truncate(blobOf(o, p.Builds[HostPlatform()]), 10); err != nil {
				t.Fatal(err)
			}
		}, "not the one that was asked for"},
		"a changed index": {func(t *testing.T, o Origin, p Published) {
			if err := os.WriteFile(blobOf(o, p.Index), []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not the one that was asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			origin := layoutOf(t)
			one.corrupt(t, origin, publish(t, origin, releaseOf(t, example, "1.4.2", nil)))
			u := newUser(t, origin, example, "")
			u.required.AllowUnsigned = true
			refused[error](u, u.plain, one.says)
			publish(t, layoutAt(t, &u.Origin), releaseOf(t, example, "1.4.2", nil)) // from elsewhere
			u.mustInstall()
		})
	}
}

func layoutAt(t *testing.T, o *Origin) Origin {
	*o = layoutOf(t)
	return *o
}

// corrupted publishes an index that says something wrong.
func TestAReleaseThatIsMadeOtherwiseIsRefused(t *testing.T) {
	for name, one := range map[string]struct {
		change func(*ocispec.Index)
		says   string
	}{
		"no plugin": {func(i *ocispec.Index) {
			i.ArtifactType = "application/x"
		}, "not a forgeyard-fleet plugin"},
		"no protocol":            {func(i *ocispec.Index) { delete(i.Annotations, protocolAnnotation) }, "which protocol"},
		"a protocol of nonsense": {func(i *ocispec.Index) { i.Annotations[protocolAnnotation] = "1e3" }, "which protocol"},
		"another version": {func(i *ocispec.Index) {
			i.Annotations[ocispec.AnnotationVersion] = "9.9.9"
		}, "an index of version"},
		"no builds": {func(i *ocispec.Index) { i.Manifests = nil }, "has 0 builds"},
		"too many builds": {func(i *ocispec.Index) {
			for len(i.Manifests) <= maxPlatforms {
				i.Manifests = append(i.Manifests, i.Manifests[0])
			}
		}, "has 65 builds"},
		"a platform twice": {func(i *ocispec.Index) {
			i.Manifests = append(i.Manifests, i.Manifests[0])
		}, "listed twice"},
		"no platform": {func(i *ocispec.Index) { i.Manifests[0].Platform = nil }, "without a platform"},
		"a platform of nonsense": {func(i *ocispec.Index) {
			i.Manifests[0].Platform.OS = "../.."
		}, "which is invalid or listed twice"},
		"a manifest too large": {func(i *ocispec.Index) { i.Manifests[0].Size = 1 << 40 }, "at most 64.0 KiB are read"},
	} {
		t.Run(name, func(t *testing.T) {
			origin := layoutOf(t)
			published := publish(t, origin, releaseOf(t, example, "1.4.2", nil))
			place, err := openLayout(origin.Layout, example)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(blobOf(origin, published.Index))
			if err != nil {
				t.Fatal(err)
			}
			var index ocispec.Index
			if err := json.Unmarshal(text, &index); err != nil {
				t.Fatal(err)
			}
			one.change(&index)
			raw := encode(index)
			corrupted := describe(ocispec.MediaTypeImageIndex, raw)
			if err := errors.Join(
				place.push(t.Context(), corrupted, content(raw)),
				place.tag(t.Context(), corrupted, "1.4.2"),
			); err != nil {
				t.Fatal(err)
			}
			u := newUser(t, origin, example, "")
			u.required.AllowUnsigned = true
			refused[*ArtifactError](u, u.plain, one.says)
		})
	}
}

func TestABinaryThatIsTooLargeIsNotFetched(t *testing.T) {
	origin := layoutOf(t)
	r := releaseOf(t, example, "1.4.2", nil)
	if err := os.Truncate(r.Files[HostPlatform()], maxBinaryBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Publish(
		t.Context(),
		origin,
		r,
	); err == nil ||
		!strings.Contains(err.Error(), "at most 512.0 MiB are installed") {
		t.Errorf("got %v", err)
	}
}

func TestManyWritersOfOneLayoutLoseNothing(t *testing.T) {
	origin := layoutOf(t)
	publish(t, origin, releaseOf(t, example, "0.0.1", nil))
	var group sync.WaitGroup
	for n := range 8 {
		r := releaseOf(t, example, "1.0."+string(rune('0'+n)), newKey(t))
		group.Go(func() {
			if _, err := Publish(t.Context(), origin, r); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	place, err := openLayout(origin.Layout, example)
	if err != nil {
		t.Fatal(err)
	}
	if tags, err := place.tags(t.Context()); err != nil || len(tags) != 9 {
		t.Errorf("tags %v, %v", tags, err)
	}
	if left := matches(t, origin.Layout, "blobs/sha256/*.new"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTheSameFilesGiveTheSameDigests(t *testing.T) {
	r := releaseOf(t, example, "1.4.2", newKey(t))
	if one, two := publish(t, layoutOf(t), r), publish(t, layoutOf(t), r); one.Index != two.Index {
		t.Errorf("%s and %s", one.Index, two.Index)
	}
}

// FuzzRelease looks for an index that panics its reader, or that it accepts with
// something that couldn't be locked.
func FuzzRelease(f *testing.F) {
	f.Add(
		[]byte(
			`{"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"` + pluginType +
				`","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"` + digestA() +
				`","size":3,"platform":{"os":"linux","architecture":"amd64"}}],"annotations":{"` + protocolAnnotation + `":"1"}}`,
		),
	)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := release{manifests: map[string]ocispec.Descriptor{}}
		if r.parse(raw) != nil {
			return
		}
		for platform, manifest := range r.manifests {
			if !platformForm.MatchString(platform) || !digestForm.MatchString(manifest.Digest.String()) ||
				manifest.Size > maxManifestBytes ||
				manifest.Size < 0 {
				t.Errorf("accepted %q: %+v", platform, manifest)
			}
		}
		if r.protocol < 1 || len(r.manifests) == 0 {
			t.Errorf("accepted %+v", r)
		}
	})
}
