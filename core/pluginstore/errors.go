package pluginstore

import (
	"fmt"
	"strings"
)

// message is an error of several lines for a person: what is wrong, the facts,
// and what to do.
func message(head string, advice string, facts ...string) string {
	var text strings.Builder
	text.WriteString(head)
	if len(facts) > 0 {
		text.WriteString("\n")
	}
	for _, fact := range facts {
		text.WriteString("\n  " + fact)
	}
	if advice != "" {
		text.WriteString("\n\n  " + advice)
	}
	return text.String()
}

const installCommand = "forgeyard-fleet plugin install"

// TamperedError says that something isn't what its digest says.
type TamperedError struct {
	// What it is; empty: the executable.
	What          string
	Digest, Found string
}

func (e *TamperedError) Error() string {
	what := e.What
	if what == "" {
		what = "executable"
	}
	return message(
		"the "+what+" that was received is not the one that was asked for",
		"It was damaged on the way or replaced; nothing of it was kept. Try again, or take it from elsewhere: a mirror, or "+
			"--from DIR.",
		"asked for  "+e.Digest,
		"received   "+e.Found,
	)
}

// ArtifactError says that a release is not made as a plugin's is.
type ArtifactError struct{ Reason string }

func (e *ArtifactError) Error() string {
	return e.Reason +
		"; ask its author to publish it again with \"forgeyard-fleet plugin publish\", or install another version"
}

// FullError says that the store's file system takes no more.
type FullError struct {
	Store string
	Need  int64
	Err   error
}

func (e *FullError) Error() string {
	return message("the plugin store has no room left",
		"Free some space, or set FLEET_PLUGIN_DIR to a folder that has it, and try again.",
		fmt.Sprintf("%s must take %s (%v)", e.Store, byteCount(e.Need), e.Err))
}

func (e *FullError) Unwrap() error { return e.Err }

// AccessError says that a registry denied access.
type AccessError struct {
	Host, Repository string
	Status           int
	// Credentials says where credentials were looked for, and whether there were any.
	Credentials string
}

func (e *AccessError) Error() string {
	return message(fmt.Sprintf("%s refused access to %s (%d)", e.Host, e.Repository, e.Status),
		"Run: docker login "+e.Host, "Credentials tried: "+e.Credentials+".")
}

// UnreachableError says that a registry gave no answer of use.
type UnreachableError struct {
	Host string
	// Proxy is the proxy that was used; empty: none.
	Proxy string
	Err   error
}

func (e *UnreachableError) Error() string {
	proxy := "no proxy was used: none is set for it in HTTPS_PROXY or HTTP_PROXY"
	if e.Proxy != "" {
		proxy = "by the proxy " + e.Proxy
	}
	return message(
		e.Host+" can't be reached",
		"Check the network and the proxy, and run the command again: what was received is kept. Without a network: --from "+
			"DIR, or a mirror.",
		e.Err.Error(),
		proxy,
	)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// MissingError says that a registry or layout doesn't have something.
type MissingError struct {
	Where, What string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf(
		"%s has no %s; compare the source in required_plugins with where its author publishes it",
		e.Where,
		e.What,
	)
}

// OtherDigestError says that a layout has the locked version with another digest.
type OtherDigestError struct {
	Plugin, Version, Digest string
	Missing                 *MissingError
}

func (e *OtherDigestError) Error() string {
	return fmt.Sprintf(
		"%s has %s with another digest (%s), and not the locked one; to take it, run: forgeyard-fleet plugin update %s",
		e.Missing.Where,
		e.Version,
		e.Digest,
		e.Plugin,
	)
}

func (e *OtherDigestError) Unwrap() error { return e.Missing }

// NoVersionError says that no published version fits.
type NoVersionError struct {
	Plugin, Source, Constraint string
	// Nearest are the published versions next to the constraint, at most five.
	Nearest []string
	// Prerelease is the newest prerelease that the constraint would take if it
	// named one.
	Prerelease string
}

func (e *NoVersionError) Error() string {
	if len(e.Nearest) == 0 {
		return message(
			fmt.Sprintf("no version of plugin %q is published", e.Plugin),
			"Check the source in required_plugins.",
			e.Source+" has no tag that is a version.",
		)
	}
	facts := []string{
		fmt.Sprintf("required_plugins asks for %q of %s.", e.Constraint, e.Source),
		"The nearest: " + strings.Join(e.Nearest, ", ") + ".",
	}
	advice := "Change version in required_plugins to take one of these."
	if e.Prerelease != "" {
		advice = fmt.Sprintf("A prerelease is taken only by name: version = %q", e.Prerelease)
	}
	return message(fmt.Sprintf("no version of plugin %q fits", e.Plugin), advice, facts...)
}

// OlderError says that the newest version that is published is older than the
// locked one. Its author may have taken that back; who stands between may hide it,
// so that a version with a known hole is installed with its good signature.
type OlderError struct {
	Plugin, Source, Locked, Newest string
}

func (e *OlderError) Error() string {
	return message(
		fmt.Sprintf("the newest version of plugin %q is older than the one that is locked", e.Plugin),
		fmt.Sprintf(
			"Ask its author whether %s was taken back. To go back all the same, write version = %q in required_plugins.",
			e.Locked,
			e.Newest,
		),
		fmt.Sprintf("%s is locked, and the newest of %s that fits is %s.", e.Locked, e.Source, e.Newest),
	)
}

// NewerProtocolError says that a plugin needs a newer manager.
type NewerProtocolError struct {
	Plugin, Version string
	Wants, Speaks   int
}

func (e *NewerProtocolError) Error() string {
	if e.Wants < e.Speaks {
		return message(
			fmt.Sprintf("plugin %q %s speaks an older protocol than this forgeyard-fleet", e.Plugin, e.Version),
			"Take a newer version of the plugin.",
			fmt.Sprintf("It speaks protocol %d, and this version %d. Nothing of it was fetched.", e.Wants, e.Speaks),
		)
	}
	return message(fmt.Sprintf("plugin %q %s needs a newer forgeyard-fleet", e.Plugin, e.Version),
		fmt.Sprintf("Install a newer forgeyard-fleet, or take an older version of the plugin: version = \"< %s\"", e.Version),
		fmt.Sprintf("It speaks protocol %d, and this version %d. Nothing of it was fetched.", e.Wants, e.Speaks))
}

// NoBuildError says that a release has nothing for a platform.
type NoBuildError struct {
	Plugin, Version, Platform string
	Builds                    []string
}

func (e *NoBuildError) Error() string {
	return message(
		fmt.Sprintf("plugin %q %s has no build for %s", e.Plugin, e.Version, e.Platform),
		"",
		"Builds: "+strings.Join(e.Builds, ", ")+".",
	)
}

// UnsignedError says that a release has no trusted signature.
type UnsignedError struct {
	Plugin, Source, Version string
	// Before is the key that signed what is locked; empty: none.
	Before PublicKey
	// Refused says why the signatures that it has prove nothing.
	Refused []error
}

func (e *UnsignedError) Error() string {
	facts := []string{fmt.Sprintf("%s %s has no signature that counts.", e.Source, e.Version)}
	for _, why := range e.Refused {
		facts = append(facts, "One was refused: "+why.Error()+".")
	}
	if e.Before != "" {
		facts = append(facts, "What is locked was signed by "+string(e.Before)+".")
		return message(
			fmt.Sprintf("plugin %q is not signed any more", e.Plugin),
			fmt.Sprintf(
				"Ask its author. If that is as it should be, take the block of %q out of %s, allow_unsigned = true into "+
					"required_plugins, and install again.",
				e.Plugin,
				LockFileName,
			),
			facts...)
	}
	return message(
		fmt.Sprintf("plugin %q is not signed", e.Plugin),
		fmt.Sprintf(
			"Ask its author to sign it, or write %s = { …, allow_unsigned = true } in required_plugins.",
			e.Plugin,
		),
		facts...)
}

// SignerError says that a release is signed, and not by whom the lock trusts.
type SignerError struct {
	Plugin, Source, Version string
	Trusted                 PublicKey
	Found                   []PublicKey
}

func (e *SignerError) Error() string {
	return message(
		fmt.Sprintf("plugin %q %s is signed by another key than before", e.Plugin, e.Version),
		fmt.Sprintf(
			"Ask its author, by another way than the registry. To trust the new key from now on: forgeyard-fleet plugin "+
				"update %s --trust-key %s",
			e.Plugin,
			e.Found[0],
		),
		e.Source,
		"trusted  "+string(e.Trusted),
		"found    "+joined(e.Found),
	)
}

// UntrustedError says that a key is new and wasn't accepted by a person.
type UntrustedError struct {
	Plugin, Source, Version string
	Keys                    []PublicKey
}

func (e *UntrustedError) Error() string {
	return message(
		fmt.Sprintf("the key that signed plugin %q is not trusted yet", e.Plugin),
		fmt.Sprintf(
			"Compare it with the key that its author names, and run the same command with: --trust-key %s",
			e.Keys[0],
		),
		fmt.Sprintf("%s %s is signed by %s.", e.Source, e.Version, joined(e.Keys)),
	)
}

// NotLockedError says that --locked would have to change the lock.
type NotLockedError struct{ Plugin, Reason string }

func (e *NotLockedError) Error() string {
	return message(
		fmt.Sprintf("%s doesn't fit the fleet files", LockFileName),
		fmt.Sprintf(
			"Run without --locked and commit %s: %s",
			LockFileName,
			installCommand,
		),
		fmt.Sprintf("plugin %q %s.", e.Plugin, e.Reason),
	)
}

func joined(keys []PublicKey) string {
	var all []string
	for _, key := range keys {
		all = append(all, string(key))
	}
	return strings.Join(all, ", ")
}

// byteCount is a size for people.
func byteCount(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
