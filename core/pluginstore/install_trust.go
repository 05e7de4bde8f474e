package pluginstore

import (
	"context"
	"slices"
)

func (i Installer) checkSigner(ctx context.Context, from repository, old LockedPlugin, found release) error {
	if old.Signer == "" {
		return nil
	}
	signatures, err := signaturesOf(ctx, from, found.descriptor)
	if err != nil {
		return err
	}
	keys, refused := statement{old.Source, old.Version, old.Index}.signers(signatures)
	switch {
	case len(keys) == 0:
		return &UnsignedError{Plugin: old.Name, Source: old.Source, Version: old.Version, Before: PublicKey(old.Signer),
			Refused: refused}
	case !slices.Contains(keys, PublicKey(old.Signer)):
		return &SignerError{Plugin: old.Name, Source: old.Source, Version: old.Version, Trusted: PublicKey(old.Signer),
			Found: keys}
	}
	return nil
}

// trust gives the key that vouches for a release and that the user trusts;
// none where the files allow that.
func (i Installer) trust(ctx context.Context, from repository, r Required, old LockedPlugin, found release) (PublicKey,
	error) {
	signatures, err := signaturesOf(ctx, from, found.descriptor)
	if err != nil {
		return "", err
	}
	keys, refused := statement{r.Source, found.version, found.descriptor.Digest.String()}.signers(signatures)
	before := PublicKey("")
	if old.Source == r.Source {
		before = PublicKey(old.Signer)
	}
	switch {
	case len(keys) == 0 && before == "" && r.AllowUnsigned:
		return "", nil
	case len(keys) == 0:
		return "", &UnsignedError{Plugin: r.Name, Source: r.Source, Version: found.version, Before: before, Refused: refused}
	case slices.Contains(keys, before):
		return before, nil
	}
	for _, key := range i.Trusted {
		if slices.Contains(keys, key) {
			return key, nil
		}
	}
	switch {
	case before != "":
		return "", &SignerError{Plugin: r.Name, Source: r.Source, Version: found.version, Trusted: before, Found: keys}
	case i.Agree == nil || len(i.Trusted) > 0:
		return "", &UntrustedError{Plugin: r.Name, Source: r.Source, Version: found.version, Keys: keys}
	}
	return keys[0], i.Agree(ctx, NewSigner{Plugin: r.Name, Source: r.Source, Version: found.version, Key: keys[0]})
}
