package pluginstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// layout is one repository of an OCI layout: a folder with an index.json and
// blobs by digest. It holds any number of repositories; the reference of an index
// is REPOSITORY:TAG. Nothing outside of the folder is read or written, whatever
// links lie in it.
type layout struct {
	dir        string
	root       *os.Root
	repository string
}

const (
	// maxLayoutIndexBytes is index.json of thousands of releases.
	maxLayoutIndexBytes = 8 << 20
	layoutVersion       = `{"imageLayoutVersion":"1.0.0"}`
)

// openLayout uses a folder that is a layout.
func openLayout(dir, repository string) (*layout, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the OCI layout: %w", err)
	}
	l := &layout{dir: dir, root: root, repository: repository}
	marker, err := l.read(ocispec.ImageLayoutFile, 4096)
	var kind ocispec.ImageLayout
	switch {
	case errors.Is(err, fs.ErrNotExist):
		advice := "make one with \"forgeyard-fleet plugin mirror\" or \"plugin publish --to\""
		if built, _ := filepath.Glob(filepath.Join(dir, binaryPrefix+"*")); len(built) > 0 {
			advice = "it holds built plugins: for trying them out there is plugin install --dev " + dir
		}
		if _, below := os.Stat(filepath.Join(dir, "plugins", ocispec.ImageLayoutFile)); below == nil {
			advice = "did you mean --from " + filepath.Join(dir, "plugins") + "?"
		}
		return nil, fmt.Errorf("%s is not an OCI layout: it has no file %s; %s", dir, ocispec.ImageLayoutFile, advice)
	case err != nil:
		return nil, fmt.Errorf("open the OCI layout %s: %w", dir, err)
	}
	if err := json.Unmarshal(marker, &kind); err != nil || kind.Version != ocispec.ImageLayoutVersion {
		return nil, fmt.Errorf("%s is not an OCI layout of version %s: its file %s says %.80q", dir,
			ocispec.ImageLayoutVersion, ocispec.ImageLayoutFile, marker)
	}
	return l, nil
}

// makeLayout uses a folder as a layout, and makes it one if it is empty. Others
// may make it at the same time, or have died while they did.
func makeLayout(dir, repository string) (*layout, error) {
	fail := func(err error) (*layout, error) { return nil, fmt.Errorf("make the OCI layout %s: %w", dir, err) }
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	if begun, err := isBegun(dir); err != nil {
		return fail(err)
	} else if !begun {
		return openLayout(dir, repository)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	fresh := &layout{dir: dir, root: root, repository: repository}
	unlock, err := fresh.lock(context.Background()) // held for two small files
	if err != nil {
		return fail(err)
	}
	defer unlock()
	// Somebody else may have finished meanwhile, and put a release in.
	begun, err := isBegun(dir)
	if err == nil && begun {
		err = errors.Join(fresh.replace(ocispec.ImageIndexFile, bytes.NewReader(emptyIndex())),
			fresh.replace(ocispec.ImageLayoutFile, strings.NewReader(layoutVersion)))
	}
	if err != nil {
		return fail(err)
	}
	return openLayout(dir, repository)
}

func emptyIndex() []byte {
	return encode(
		ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
			Manifests: []ocispec.Descriptor{}})
}

// isBegun says that a folder is empty, or has nothing but what makeLayout leaves
// before the last thing that it does: to give the marker its content.
func isBegun(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // given its name meanwhile
		}
		if err != nil {
			return false, err
		}
		left := false
		switch entry.Name() {
		case ocispec.ImageIndexFile + ".new", ocispec.ImageLayoutFile + ".new":
			left = info.Mode().IsRegular()
		case ocispec.ImageLayoutFile: // empty: the lock's
			left = info.Mode().IsRegular() && info.Size() == 0
		case ocispec.ImageIndexFile:
			left = info.Mode().IsRegular() && info.Size() == int64(len(emptyIndex()))
		}
		if !left {
			return false, nil
		}
	}
	return true, nil
}

// open opens a regular file of the folder. A link is refused even if it stays
// inside: nothing that makes layouts makes links.
func (l *layout) open(name string) (*os.File, int64, error) {
	info, err := l.root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() { // a pipe would block
		return nil, 0, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := l.root.Open(name)
	return file, info.Size(), err
}

func (l *layout) read(name string, limit int64) ([]byte, error) {
	file, size, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, fmt.Errorf("%s is %s, and at most %s are read", name, byteCount(size), byteCount(limit))
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

func (l *layout) index() (ocispec.Index, error) {
	var index ocispec.Index
	text, err := l.read(ocispec.ImageIndexFile, maxLayoutIndexBytes)
	if err == nil {
		err = plainjson.Read(text, &index)
	}
	if err != nil {
		return index, fmt.Errorf("read the OCI layout %s: %w", l.dir, err)
	}
	return index, nil
}

func (l *layout) tags(context.Context) ([]string, error) {
	index, err := l.index()
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, entry := range index.Manifests {
		if tag, ours := strings.CutPrefix(entry.Annotations[ocispec.AnnotationRefName], l.repository+":"); ours {
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		return nil, &MissingError{"the OCI layout " + l.dir, "release of " + l.repository}
	}
	return tags, nil
}

func (l *layout) resolve(_ context.Context, reference string) (ocispec.Descriptor, error) {
	index, err := l.index()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	for _, entry := range index.Manifests {
		named := entry.Annotations[ocispec.AnnotationRefName] == l.repository+":"+reference
		if named || entry.Digest.String() == reference {
			return ocispec.Descriptor{MediaType: entry.MediaType, Digest: entry.Digest, Size: entry.Size,
				ArtifactType: entry.ArtifactType}, nil
		}
	}
	return ocispec.Descriptor{}, &MissingError{"the OCI layout " + l.dir, l.repository + " " + reference}
}

func (l *layout) fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if err := checkDescriptor(d, "content", maxBinaryBytes); err != nil {
		return nil, err
	}
	file, size, err := l.open(blobName(d))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &MissingError{"the OCI layout " + l.dir, "blob " + d.Digest.String()}
	case err != nil:
		return nil, &ArtifactError{fmt.Sprintf("the OCI layout %s has a blob that can't be read: %v", l.dir, err)}
	case size != d.Size:
		return nil, errors.Join(
			&TamperedError{What: "content", Digest: d.Digest.String() + " of " + byteCount(d.Size),
				Found: "a file of " + byteCount(size)}, file.Close())
	}
	return file, nil
}

func (l *layout) signatures(_ context.Context, index ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	all, err := l.index()
	if err != nil {
		return nil, err
	}
	var found []ocispec.Descriptor
	for _, entry := range all.Manifests {
		if entry.ArtifactType == signatureArtifactType && entry.Annotations[subjectAnnotation] == index.Digest.String() {
			found = append(found, ocispec.Descriptor{MediaType: entry.MediaType, Digest: entry.Digest, Size: entry.Size})
		}
	}
	return found, nil
}

// subjectAnnotation is on an entry of index.json that is a signature.
const subjectAnnotation = "dev.forgeyard.fleet.subject"

// blobName is only asked of digests that were checked.
func blobName(d ocispec.Descriptor) string { return "blobs/sha256/" + d.Digest.Encoded() }

// push also notes a signature in index.json, where it is found again.
func (l *layout) push(ctx context.Context, d ocispec.Descriptor, content func() (io.ReadCloser, error)) error {
	if err := checkDescriptor(d, "content", maxBinaryBytes); err != nil {
		return err
	}
	if !l.has(d) {
		if err := l.pushBlob(ctx, d, content); err != nil {
			return fmt.Errorf("write to the OCI layout %s: %w", l.dir, err)
		}
	}
	if d.MediaType != ocispec.MediaTypeImageManifest {
		return nil
	}
	raw, err := fetchSmall(ctx, l, d, "manifest", maxManifestBytes)
	if err != nil {
		return err
	}
	var manifest ocispec.Manifest
	if err := plainjson.Read(raw, &manifest); err != nil {
		return &ArtifactError{fmt.Sprintf("a manifest can't be read: %v", err)}
	}
	if manifest.Subject == nil {
		return nil
	}
	return l.note(ctx, ocispec.Descriptor{
		MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, ArtifactType: manifest.ArtifactType,
		Annotations: map[string]string{subjectAnnotation: manifest.Subject.Digest.String()},
	}, func(entry *ocispec.Descriptor) bool { return entry.Digest != d.Digest })
}

func (l *layout) has(d ocispec.Descriptor) bool {
	file, size, err := l.open(blobName(d))
	if err != nil || size != d.Size {
		return false
	}
	defer file.Close()
	found, err := digestOf(file)
	return err == nil && found == d.Digest.String()
}

func (l *layout) pushBlob(ctx context.Context, d ocispec.Descriptor, content func() (io.ReadCloser, error)) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.root.MkdirAll("blobs/sha256", 0o755); err != nil {
		return err
	}
	in, err := content()
	if err != nil {
		return err
	}
	defer in.Close()
	verified := d.Digest.Verifier()
	if err := l.replace(blobName(d), io.TeeReader(io.LimitReader(in, d.Size+1), verified)); err != nil {
		return err
	}
	if !verified.Verified() {
		return errors.Join(&TamperedError{What: "content", Digest: d.Digest.String(), Found: "other bytes"},
			l.root.Remove(blobName(d)))
	}
	return nil
}

func (l *layout) tag(ctx context.Context, index ocispec.Descriptor, tag string) error {
	name := l.repository + ":" + tag
	return l.note(ctx, ocispec.Descriptor{
		MediaType: index.MediaType, Digest: index.Digest, Size: index.Size, ArtifactType: pluginType,
		Annotations: map[string]string{ocispec.AnnotationRefName: name},
	}, func(entry *ocispec.Descriptor) bool {
		if entry.Annotations[ocispec.AnnotationRefName] == name {
			// It stays for locks that name its digest.
			entry.Annotations = nil
		}
		return entry.Annotations != nil || entry.Digest != index.Digest
	})
}

// note puts an entry into index.json, beside those that keep says stay.
func (l *layout) note(ctx context.Context, entry ocispec.Descriptor, keep func(*ocispec.Descriptor) bool) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	index, err := l.index()
	if err != nil {
		return err
	}
	kept := []ocispec.Descriptor{}
	for _, old := range index.Manifests {
		if keep(&old) {
			kept = append(kept, old)
		}
	}
	index.Manifests = append(kept, entry)
	if err := l.replace(ocispec.ImageIndexFile, bytes.NewReader(encode(index))); err != nil {
		return fmt.Errorf("write to the OCI layout %s: %w", l.dir, err)
	}
	return nil
}

// replace writes a file whole or not at all. The lock is held, or no other
// process knows the layout yet.
func (l *layout) replace(name string, content io.Reader) error {
	// What lies there was left by one who died, or is a pipe that would block.
	if err := l.root.Remove(name + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := l.root.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = l.root.Rename(name+".new", name)
	}
	if err != nil {
		return errors.Join(err, l.root.Remove(name+".new"))
	}
	return nil
}

// lock keeps other writers of the layout away.
func (l *layout) lock(ctx context.Context) (unlock func(), err error) {
	held := flock.New(filepath.Join(l.dir, ocispec.ImageLayoutFile))
	if _, err := held.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("wait for other writers of %s: %w", l.dir, errors.Join(err, held.Close()))
	}
	return func() { _ = held.Close() }, nil
}
