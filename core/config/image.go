package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/expression"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// image is one image block, before a fleet's provider picks its reference.
type image struct {
	fleet.Image
	refs   map[string]string
	broken bool
}

var refKeyForm = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)?$`)

func (l *loader) readImage(block *body) {
	var written imageBlock
	block.read(&written)
	for _, key := range slices.Sorted(maps.Keys(written.Refs)) {
		l.checkRef(block, key, written.Refs[key])
	}
	block.close()
	l.images[written.Name] = &image{
		Image: fleet.Image{Name: written.Name, Digest: written.Digest, Bootstrap: written.Bootstrap},
		refs:  written.Refs, broken: !block.given("refs"),
	}
}

// checkRef looks at one entry of refs. An entry for a plugin that this
// definition doesn't use is only worth a warning: images are shared by copying.
func (l *loader) checkRef(block *body, key, ref string) {
	at := block.at("refs")
	if item, found := expression.Item(block.attribute("refs").Expr, key); found {
		at = item.KeyExpr.Range()
	}
	if !refKeyForm.MatchString(key) {
		l.Fail(
			at,
			block.where,
			fmt.Sprintf("Invalid provider %q in refs", diagnostic.Clip(key)),
			"References are listed by PLUGIN.NAME of a provider block, such as \"aws.frankfurt\", or by PLUGIN for all of "+
				"its blocks.",
		)
		return
	}
	if ref == "" {
		l.Fail(
			at,
			block.where,
			fmt.Sprintf("The reference for %q is empty", key),
			"Write what the provider calls this image.",
		)
	}
	plugin, _, exact := strings.Cut(key, ".")
	known := l.pluginNames()
	subject := plugin
	if exact && slices.Contains(known, plugin) {
		known, subject = l.scope.Names["provider"], key
	}
	if !slices.Contains(known, subject) {
		l.Warn(at, block.where, fmt.Sprintf("The reference for %q is never used", key),
			strings.TrimSpace(fmt.Sprintf("No such provider is declared. %s", suggestion.For(subject, "providers", known))))
	}
}

// imageFor resolves an image for a provider: the entry of the provider block
// wins over the one of its plugin.
func (l *loader) imageFor(block *body, name string, provider fleet.ProviderAddress, at hcl.Range) fleet.Image {
	found := l.images[name]
	if found == nil {
		return fleet.Image{}
	}
	result := found.Image
	for _, key := range []string{string(provider), provider.Plugin()} {
		if ref, ok := found.refs[key]; ok {
			result.Ref = ref
			return result
		}
	}
	if !found.broken && provider != "" {
		detail := fmt.Sprintf("Its refs have no entry for %q or %q.", provider, provider.Plugin())
		if len(found.refs) > 0 {
			detail += fmt.Sprintf(" It has: %s.", suggestion.Quoted(slices.Sorted(maps.Keys(found.refs))))
		}
		l.Fail(at, block.where, fmt.Sprintf("The image %q can't be used with provider.%s", name, provider),
			detail+fmt.Sprintf(" Add to the image: %q = \"…\"", provider))
	}
	return result
}

func (l *loader) pluginNames() []string {
	names := make([]string, len(l.definition.Plugins))
	for i, plugin := range l.definition.Plugins {
		names[i] = plugin.Name
	}
	return names
}
