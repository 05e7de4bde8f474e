package pluginstore

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/forgeyard/forgeyard-fleet/core/config/source"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// LockFileName is the lock's name, beside the fleet files.
const LockFileName = source.LockFileName

// SourceDev is the source of a plugin that its author built and installed from a
// folder: it has no index and no signer, and another machine can't fetch it.
const SourceDev = "dev"

const lockHeader = "# Written by \"forgeyard-fleet plugin install\". Commit this file; do not edit it.\n"

// Lock is fleet.lock.hcl: which binaries a project runs, for every platform.
// Plugins are sorted by name.
type Lock struct {
	Plugins []LockedPlugin
}

// LockedPlugin is one plugin block of the lock.
type LockedPlugin struct {
	Name string
	// Source is where it came from: an OCI repository in full, or SourceDev.
	Source string
	// Version is what the binary says of itself.
	Version string
	// Constraint is what required_plugins asked for when it was locked.
	Constraint string
	// Protocol is the major version of the plugin contract.
	Protocol int
	// Index is the digest of the OCI index, Signer the key that signed it; both
	// are empty for SourceDev. An unsigned plugin has no signer either.
	Index  string
	Signer string
	// Binaries are digests ("sha256:…") by platform ("linux_amd64").
	Binaries map[string]string
}

// Plugin is the locked plugin of that name.
func (l Lock) Plugin(name string) (LockedPlugin, bool) {
	i := slices.IndexFunc(l.Plugins, func(p LockedPlugin) bool { return p.Name == name })
	if i < 0 {
		return LockedPlugin{}, false
	}
	return l.Plugins[i], true
}

// With is the lock with a plugin added or replaced.
func (l Lock) With(plugin LockedPlugin) Lock {
	kept := slices.DeleteFunc(slices.Clone(l.Plugins), func(p LockedPlugin) bool { return p.Name == plugin.Name })
	kept = append(kept, plugin)
	slices.SortFunc(kept, func(a, b LockedPlugin) int { return cmp.Compare(a.Name, b.Name) })
	return Lock{Plugins: kept}
}

// Equal says that two entries are written alike.
func (p LockedPlugin) Equal(other LockedPlugin) bool {
	return bytes.Equal(Lock{Plugins: []LockedPlugin{p}}.Bytes(), Lock{Plugins: []LockedPlugin{other}}.Bytes())
}

// Only is the lock without the plugins that no one requires any more.
func (l Lock) Only(names []string) Lock {
	kept := slices.DeleteFunc(
		slices.Clone(l.Plugins),
		func(p LockedPlugin) bool { return !slices.Contains(names, p.Name) },
	)
	return Lock{Plugins: kept}
}

// Digest identifies the lock's content, for saved plans.
func (l Lock) Digest() string { return fleet.DigestBytes(l.Bytes()) }

// Bytes is the lock in its one normal form, so that a diff of two locks shows
// what changed and nothing else.
func (l Lock) Bytes() []byte {
	file := hclwrite.NewEmptyFile()
	plugins := slices.Clone(l.Plugins)
	slices.SortFunc(plugins, func(a, b LockedPlugin) int { return cmp.Compare(a.Name, b.Name) })
	for _, plugin := range plugins {
		file.Body().AppendNewline()
		body := file.Body().AppendNewBlock("plugin", []string{plugin.Name}).Body()
		body.SetAttributeValue("source", cty.StringVal(plugin.Source))
		body.SetAttributeValue("version", cty.StringVal(plugin.Version))
		body.SetAttributeValue("constraint", cty.StringVal(plugin.Constraint))
		body.SetAttributeValue("protocol", cty.NumberIntVal(int64(plugin.Protocol)))
		body.SetAttributeValue("index", cty.StringVal(plugin.Index))
		body.SetAttributeValue("signer", cty.StringVal(plugin.Signer))
		binaries := map[string]cty.Value{}
		for platform, digest := range plugin.Binaries {
			binaries[platform] = cty.StringVal(digest)
		}
		body.SetAttributeValue("binaries", cty.ObjectVal(binaries))
	}
	return append([]byte(lockHeader), hclwrite.Format(file.Bytes())...)
}

var (
	digestForm   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	platformForm = regexp.MustCompile(`^[a-z0-9]{1,20}_[a-z0-9]{1,20}$`)
	sourceForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,250}(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)
	// plainText is what needs no escape in a quoted HCL string.
	plainText = regexp.MustCompile(`^[^"\\$%\x00-\x1f\x7f]{0,300}$`)
)

// Validate says what is wrong about the first entry that can't be written.
func (l Lock) Validate() error {
	seen := map[string]bool{}
	for _, plugin := range l.Plugins {
		if err := plugin.Validate(); err != nil {
			return err
		}
		if seen[plugin.Name] {
			return fmt.Errorf("the lock names plugin %q twice", plugin.Name)
		}
		seen[plugin.Name] = true
	}
	return nil
}

// Validate says what is wrong about one entry.
func (p LockedPlugin) Validate() error {
	refuse := func(what, value string) error {
		return fmt.Errorf("the lock entry of plugin %q has a wrong %s: %q", p.Name, what, value)
	}
	if !fleet.ValidName(p.Name) {
		return refuse("name", p.Name)
	}
	if p.Source != SourceDev && !sourceForm.MatchString(p.Source) {
		return refuse("source", p.Source)
	}
	if _, err := version.NewSemver(p.Version); err != nil || !plainText.MatchString(p.Version) {
		return refuse("version", p.Version)
	}
	if p.Constraint != "" {
		if _, err := version.NewConstraint(p.Constraint); err != nil || !plainText.MatchString(p.Constraint) {
			return refuse("constraint", p.Constraint)
		}
	}
	if p.Protocol < 1 || p.Protocol > 1000 {
		return refuse("protocol", fmt.Sprint(p.Protocol))
	}
	if p.Index != "" && !digestForm.MatchString(p.Index) {
		return refuse("index", p.Index)
	}
	if p.Signer != "" && !publicKeyForm.MatchString(p.Signer) {
		return refuse("signer", p.Signer)
	}
	if (p.Index == "") != (p.Source == SourceDev) || p.Index == "" && p.Signer != "" {
		return refuse("index", p.Index)
	}
	if len(p.Binaries) == 0 {
		return fmt.Errorf("the lock entry of plugin %q names no binary", p.Name)
	}
	for _, platform := range slices.Sorted(maps.Keys(p.Binaries)) {
		if !platformForm.MatchString(platform) || !digestForm.MatchString(p.Binaries[platform]) {
			return refuse("binary", platform+" = "+p.Binaries[platform])
		}
	}
	return nil
}
