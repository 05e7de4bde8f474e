package pluginstore

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/forgeyard/forgeyard-fleet/core/plainjson"
)

// PublicKey is an ed25519 key as it is written everywhere: "ed25519:BASE64".
type PublicKey string

const (
	publicKeyPrefix  = "ed25519:"
	signingKeyHeader = "forgeyard-fleet plugin signing key v1\n"
)

var publicKeyForm = regexp.MustCompile(`^ed25519:[A-Za-z0-9+/]{43}=$`)

// ParsePublicKey checks the form of a key that a person gave.
func ParsePublicKey(text string) (PublicKey, error) {
	text = strings.TrimSpace(text)
	if !publicKeyForm.MatchString(text) {
		return "", fmt.Errorf(
			"invalid signing key %.80q: a key is \"ed25519:\" and 44 characters, as \"plugin keygen\" prints it",
			text,
		)
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(text, publicKeyPrefix)); err != nil {
		return "", fmt.Errorf("invalid signing key %q: %w", text, err)
	}
	return PublicKey(text), nil
}

// SigningKey signs releases. It can't be printed.
type SigningKey struct{ private ed25519.PrivateKey }

// NewSigningKey makes a key from 32 random bytes.
func NewSigningKey(random io.Reader) (SigningKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return SigningKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	return SigningKey{ed25519.NewKeyFromSeed(seed)}, nil
}

// ParseSigningKey reads what Secret gives. No error repeats any of it.
func ParseSigningKey(text []byte) (SigningKey, error) {
	rest, ours := strings.CutPrefix(string(text), signingKeyHeader)
	seed, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(rest, "\n"))
	if !ours || err != nil || len(seed) != ed25519.SeedSize {
		return SigningKey{}, errors.New("it is not a signing key; make one with: forgeyard-fleet plugin keygen FILE")
	}
	return SigningKey{ed25519.NewKeyFromSeed(seed)}, nil
}

// Secret is the content of the key's file.
func (k SigningKey) Secret() []byte {
	return []byte(signingKeyHeader + base64.StdEncoding.EncodeToString(k.private.Seed()) + "\n")
}

// Public is the half that others trust.
func (k SigningKey) Public() PublicKey {
	return PublicKey(publicKeyPrefix + base64.StdEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey)))
}

// String keeps the key out of logs.
func (k SigningKey) String() string { return "signing key of " + string(k.Public()) }

// GoString keeps the key out of logs.
func (k SigningKey) GoString() string { return k.String() }

// statement is what a signature says: this index is that version of that
// repository. Copied to another repository, tag or index it says nothing.
type statement struct{ repository, version, index string }

func (s statement) text() string {
	return fmt.Sprintf(
		"forgeyard-fleet plugin signature v1\nrepository: %s\nversion: %s\nindex: %s\n",
		s.repository,
		s.version,
		s.index,
	)
}

// sign gives the signature's document: the statement, and who says so.
func (k SigningKey) sign(s statement) []byte {
	signature := ed25519.Sign(k.private, []byte(s.text()))
	return fmt.Appendf(
		nil,
		"%skey: %s\nsignature: %s\n",
		s.text(),
		k.Public(),
		base64.StdEncoding.EncodeToString(signature),
	)
}

var documentForm = regexp.MustCompile(
	`^(forgeyard-fleet plugin signature v1\nrepository: ([^\n]*)\nversion: ([^\n]*)\nindex: ([^\n]*)\n)key: ([^\n]*)\nsignature: ([^\n]*)\n$`,
)

// verify says who signed the statement with this document. An error says why it
// proves nothing.
func (s statement) verify(document []byte) (PublicKey, error) {
	part := documentForm.FindSubmatch(document)
	if part == nil {
		return "", errors.New("it has an unknown form")
	}
	key, err := ParsePublicKey(string(part[5]))
	if err != nil || string(key) != string(part[5]) {
		return "", errors.New("its key has an unknown form")
	}
	public, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(string(key), publicKeyPrefix))
	if err != nil {
		return "", err
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(string(part[6]))
	if err != nil || len(public) != ed25519.PublicKeySize || !ed25519.Verify(public, part[1], signature) {
		return "", fmt.Errorf("it is not by %s, as it says", key)
	}
	if said := (statement{string(part[2]), string(part[3]), string(part[4])}); said != s {
		return "", fmt.Errorf("it is of %s %s (%s)", said.repository, said.version, said.index)
	}
	return key, nil
}

// signatureManifest is the referrer that carries a document.
func signatureManifest(subject ocispec.Descriptor, document ocispec.Descriptor) []byte {
	subject = ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	return encode(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: signatureArtifactType, Config: ocispec.DescriptorEmptyJSON,
		Layers: []ocispec.Descriptor{document}, Subject: &subject,
	})
}

// signed is one signature as it was found.
type signed struct {
	manifest, document       ocispec.Descriptor
	manifestRaw, documentRaw []byte
}

// signaturesOf fetches the signatures that refer to an index, good or not.
func signaturesOf(ctx context.Context, from repository, index ocispec.Descriptor) ([]signed, error) {
	referrers, err := from.signatures(ctx, index)
	if err != nil {
		return nil, fmt.Errorf("list its signatures: %w", err)
	}
	if len(referrers) > maxSignatures {
		return nil, &ArtifactError{
			fmt.Sprintf("it has %d signatures, and at most %d are read", len(referrers), maxSignatures),
		}
	}
	var all []signed
	for _, d := range referrers {
		s := signed{manifest: d}
		if s.manifestRaw, err = fetchSmall(ctx, from, d, "signature's manifest", maxManifestBytes); err != nil {
			return nil, err
		}
		var manifest ocispec.Manifest
		if err := plainjson.Read(s.manifestRaw, &manifest); err != nil {
			return nil, &ArtifactError{fmt.Sprintf("a signature's manifest can't be read: %v", err)}
		}
		if manifest.Subject == nil || manifest.Subject.Digest != index.Digest || len(manifest.Layers) != 1 ||
			manifest.Layers[0].MediaType != signatureType {
			continue // of something else
		}
		s.document = manifest.Layers[0]
		if s.documentRaw, err = fetchSmall(ctx, from, s.document, "signature", maxSignatureBytes); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// signers are the keys that vouch for the statement, and why the other
// signatures don't.
func (s statement) signers(found []signed) (keys []PublicKey, refused []error) {
	for _, one := range found {
		key, err := s.verify(one.documentRaw)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		keys = append(keys, key)
	}
	return keys, refused
}
