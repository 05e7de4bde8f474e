package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Required is what the fleet files ask of one plugin.
type Required struct {
	Name string
	// Source is its OCI repository, HOST/PATH.
	Source string
	// Constraint is of versions; empty: any but prereleases.
	Constraint    string
	AllowUnsigned bool
}

// Installer makes the store and the lock what the fleet files require.
type Installer struct {
	Store  *Store
	Origin Origin
	// Protocol is the major version of the plugin contract that is spoken here.
	Protocol int
	Now      time.Time
	// Check reads a description and gives the version that it names, or says why a
	// plugin with that description can't be used.
	Check func(description []byte) (version string, err error)
	// Trusted are the keys that the user has named for new signers.
	Trusted []PublicKey
	// Agree asks a person about a new signer; nil: no person can be asked. An error
	// ends everything.
	Agree func(context.Context, NewSigner) error
	// Platforms are wanted besides this machine's.
	Platforms []string
	// Progress is told of each binary that is fetched; Warn of what a person should
	// know and nothing is refused for. Neither may be nil.
	Progress func(Progress)
	Warn     func(string)
}

// NewSigner is a key that no lock has named for the plugin yet.
type NewSigner struct {
	Plugin, Source, Version string
	Key                     PublicKey
}

// Progress is how far a binary has come.
type Progress struct {
	Plugin, Version, Platform string
	Done, Size                int64
}

// Installed is what was done about one plugin.
type Installed struct {
	LockedPlugin
	// Before is the version that was locked; empty: none.
	Before string
	// Fetched are the platforms whose binaries were brought into the store.
	Fetched []string
}

// Install makes the store have a plugin as it is locked. What isn't locked, or
// doesn't fit the requirement any more, is resolved again, unless frozen requires the
// lock as it is.
func (i Installer) Install(ctx context.Context, r Required, lock Lock, frozen bool) (Installed, error) {
	if err := i.Store.removeAbandoned(ctx, i.Now); err != nil {
		return Installed{}, err
	}
	old, locked := lock.Plugin(r.Name)
	stale := stale(r, old, locked)
	if stale == "" && old.Constraint != r.Constraint {
		if frozen {
			stale = fmt.Sprintf("is locked for %q, and required_plugins asks for %q", old.Constraint, r.Constraint)
		}
		old.Constraint = r.Constraint // it fits that, too
	}
	switch {
	case stale == "":
		return i.fill(ctx, r, old)
	case frozen:
		return Installed{}, &NotLockedError{Plugin: r.Name, Reason: stale}
	}
	return i.resolve(ctx, r, old)
}

// Update resolves a plugin again: the newest version that the requirement takes.
func (i Installer) Update(ctx context.Context, r Required, lock Lock) (Installed, error) {
	if err := i.Store.removeAbandoned(ctx, i.Now); err != nil {
		return Installed{}, err
	}
	old, _ := lock.Plugin(r.Name)
	return i.resolve(ctx, r, old)
}

// stale says why a locked plugin isn't what the fleet files ask for; empty: it is.
func stale(r Required, old LockedPlugin, locked bool) string {
	switch {
	case !locked:
		return "is not locked"
	case old.Source == SourceDev && r.Source == "":
		return "" // there is nothing else to take
	case old.Source != r.Source:
		return fmt.Sprintf("is locked from %s, and required_plugins names %s", old.Source, r.Source)
	case !fits(old.Version, r.Constraint):
		return fmt.Sprintf("is locked in version %s, and required_plugins asks for %q", old.Version, r.Constraint)
	case old.Signer == "" && !r.AllowUnsigned:
		return "is locked unsigned, and required_plugins doesn't allow that"
	}
	return ""
}

func (i Installer) platforms() []string {
	all := append([]string{HostPlatform()}, i.Platforms...)
	slices.Sort(all)
	return slices.Compact(all)
}

// fill brings what is locked into the store. Without anything to fetch nothing
// is asked of anybody.
func (i Installer) fill(ctx context.Context, r Required, old LockedPlugin) (Installed, error) {
	done := Installed{LockedPlugin: old, Before: old.Version}
	missing := slices.DeleteFunc(i.platforms(), func(platform string) bool { return i.Store.has(old, platform) })
	if len(missing) == 0 {
		return done, nil
	}
	if old.Source == SourceDev {
		_, _, err := i.Store.Binary(old, missing[0])
		return done, err
	}
	for _, platform := range missing {
		if _, has := old.Binaries[platform]; !has {
			return done,
				&NoBuildError{Plugin: r.Name, Version: old.Version, Platform: platform,
					Builds: slices.Sorted(maps.Keys(old.Binaries))}
		}
	}
	err := i.Origin.each(r.Source, func(from repository) error {
		found, err := i.locked(ctx, from, old)
		if err != nil {
			return err
		}
		builds, err := found.builds(ctx, from)
		if err != nil {
			return err
		}
		for _, platform := range missing {
			if got := builds[platform].binary.Digest.String(); got != old.Binaries[platform] {
				return fmt.Errorf(
					"%s names %s for %s, and the index that it names has %q; take the file back from version control, or run: "+
						"forgeyard-fleet plugin update %s",
					LockFileName, old.Binaries[platform], platform, got, r.Name)
			}
		}
		return i.bring(ctx, from, &done, missing, builds)
	})
	return done, wrap(r, "install", err)
}

// locked reads the index that a lock names, and checks that who signed it then
// signed it.
func (i Installer) locked(ctx context.Context, from repository, old LockedPlugin) (release, error) {
	descriptor, err := from.resolve(ctx, old.Index)
	if err != nil {
		return release{}, otherDigest(ctx, from, old, err)
	}
	if descriptor.Digest.String() != old.Index {
		return release{}, &TamperedError{What: "index", Digest: old.Index, Found: descriptor.Digest.String()}
	}
	found, err := readRelease(ctx, from, descriptor)
	if err != nil {
		return release{}, err
	}
	if err := i.checkSigner(ctx, from, old, found); err != nil {
		return release{}, err
	}
	// The tag isn't needed any more; that it moved is worth knowing.
	if named, err := from.resolve(ctx, tagOf(old.Version)); err == nil && named.Digest != descriptor.Digest {
		i.Warn(fmt.Sprintf("the tag %s of %s was moved: %s is locked and stays, and the tag names %s now; ask its author why",
			tagOf(old.Version), old.Source, old.Index, named.Digest))
	}
	return found, nil
}

// otherDigest explains a locked release that is missing where its version exists
// with another digest, as after a second build of the same version.
func otherDigest(ctx context.Context, from repository, old LockedPlugin, err error) error {
	var missing *MissingError
	if _, isLayout := from.(*layout); !isLayout || !errors.As(err, &missing) {
		return err
	}
	named, failed := from.resolve(ctx, tagOf(old.Version))
	if failed != nil {
		return err
	}
	return &OtherDigestError{Plugin: old.Name, Version: old.Version, Digest: named.Digest.String(), Missing: missing}
}

// resolve chooses a version and installs it. The tag counts here and never
// again.
func (i Installer) resolve(ctx context.Context, r Required, old LockedPlugin) (Installed, error) {
	done := Installed{Before: old.Version}
	if r.Source == "" {
		return done,
			wrap(r, "install",
				fmt.Errorf("required_plugins names no source for it; write %s = { source = \"HOST/PATH\", … } with the "+
					"repository that its author publishes it in, or install a build of your own: %s --dev FOLDER", r.Name,
					installCommand))
	}
	err := i.Origin.each(r.Source, func(from repository) error {
		found, err := i.newest(ctx, from, r)
		if err != nil {
			return err
		}
		if old.Source == r.Source && fits(old.Version, r.Constraint) && older(found.version, old.Version) {
			return &OlderError{Plugin: r.Name, Source: r.Source, Locked: old.Version, Newest: found.version}
		}
		for _, platform := range i.platforms() {
			if _, has := found.manifests[platform]; !has {
				return &NoBuildError{Plugin: r.Name, Version: found.version, Platform: platform, Builds: found.platforms()}
			}
		}
		if old.Source == r.Source && old.Version == found.version && old.Index != found.descriptor.Digest.String() {
			i.Warn(fmt.Sprintf("the tag %s of %s was moved: it named %s, and names %s now; ask its author why",
				tagOf(old.Version), old.Source, old.Index, found.descriptor.Digest))
		}
		signer, err := i.trust(ctx, from, r, old, found)
		if err != nil {
			return err
		}
		builds, err := found.builds(ctx, from)
		if err != nil {
			return err
		}
		done.LockedPlugin = LockedPlugin{
			Name: r.Name, Source: r.Source, Version: found.version, Constraint: r.Constraint, Protocol: found.protocol,
			Index: found.descriptor.Digest.String(), Signer: string(signer), Binaries: map[string]string{},
		}
		for platform, build := range builds {
			done.Binaries[platform] = build.binary.Digest.String()
		}
		return i.bring(ctx, from, &done, i.platforms(), builds)
	})
	if err == nil {
		err = done.Validate()
	}
	return done, wrap(r, "install", err)
}

// newest is the newest version that fits, if it can be used here at all.
func (i Installer) newest(ctx context.Context, from repository, r Required) (release, error) {
	tags, err := from.tags(ctx)
	if err != nil {
		return release{}, err
	}
	chosen, err := choose(tags, r)
	if err != nil {
		return release{}, err
	}
	descriptor, err := from.resolve(ctx, tagOf(chosen))
	if err != nil {
		return release{}, err
	}
	found, err := readRelease(ctx, from, descriptor)
	if err != nil {
		return release{}, err
	}
	if found.version != chosen {
		return release{},
			&ArtifactError{fmt.Sprintf("its tag %s names an index of version %.80q", tagOf(chosen), found.version)}
	}
	if found.protocol != i.Protocol {
		return release{}, &NewerProtocolError{Plugin: r.Name, Version: chosen, Wants: found.protocol, Speaks: i.Protocol}
	}
	return found, nil
}

// bring fetches binaries and their descriptions into the store.
func (i Installer) bring(ctx context.Context, from repository, done *Installed, platforms []string,
	builds map[string]build) error {
	for _, platform := range platforms {
		b, progress := builds[platform], Progress{Plugin: done.Name, Version: done.Version, Platform: platform}
		digest := b.binary.Digest.String()
		description, err := fetchSmall(ctx, from, b.description, "description", maxDescriptionBytes)
		if err != nil {
			return err
		}
		if described, err := i.Check(description); err != nil {
			return &ArtifactError{fmt.Sprintf("its description can't be used: %v", err)}
		} else if described != done.Version {
			return &ArtifactError{
				fmt.Sprintf("it is published as version %s and describes itself as %.80q", done.Version, described)}
		}
		progress.Size = b.binary.Size
		fetched, err := i.Store.put(ctx,
			wanted{digest: digest, size: b.binary.Size, open: openAt(from, b.binary), progress: func(n int64) {
				progress.Done = n
				i.Progress(progress)
			}})
		if err != nil {
			return err
		}
		if err := i.Store.SaveInfo(digest, description); err != nil {
			return err
		}
		if fetched {
			done.Fetched = append(done.Fetched, platform)
		}
	}
	return nil
}

// wrap says what was being done, where an error doesn't begin with it.
func wrap(r Required, what string, err error) error {
	var (
		tampered    *TamperedError
		artifact    *ArtifactError
		full        *FullError
		access      *AccessError
		unreachable *UnreachableError
		missing     *MissingError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tampered), errors.As(err, &artifact), errors.As(err, &full), errors.As(err, &access),
		errors.As(err, &unreachable), errors.As(err, &missing):
		return fmt.Errorf("%s plugin %q from %s: %w", what, r.Name, r.Source, err)
	case isOwn(err):
		return err
	}
	return fmt.Errorf("%s plugin %q: %w", what, r.Name, err)
}

// isOwn: an error that names the plugin itself.
func isOwn(err error) bool {
	var (
		version   *NoVersionError
		older     *OlderError
		protocol  *NewerProtocolError
		build     *NoBuildError
		unsigned  *UnsignedError
		signer    *SignerError
		untrusted *UntrustedError
		notLocked *NotLockedError
	)
	return errors.As(err, &version) || errors.As(err, &older) || errors.As(err, &protocol) || errors.As(err, &build) ||
		errors.As(err, &unsigned) ||
		errors.As(err, &signer) || errors.As(err, &untrusted) || errors.As(err, &notLocked)
}
