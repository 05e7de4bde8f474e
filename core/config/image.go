package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// image is one image block, before a fleet's provider picks its reference.
type image struct {
	fleet.Image
	refs   map[string]string
	broken bool
}

var (
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	wordForm   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	refKeyForm = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)?$`)
)

func (l *loader) readImage(block *body) {
	result := &image{Image: fleet.Image{Name: block.labels[0]}}
	block.need("digest", "digest = \"sha256:…\" with 64 hexadecimal digits")
	digest, ok := block.text("digest")
	if ok && !digestForm.MatchString(digest) {
		l.fail(block.at("digest"), block.where, fmt.Sprintf("invalid digest %q: %q", "digest", clip(digest)),
			"A digest is \"sha256:\" and 64 hexadecimal digits in lower case: what the image is, and not what it is called.")
	}
	block.need("bootstrap", "bootstrap = \"cloud-init\"")
	bootstrap, ok := block.text("bootstrap")
	if ok && !wordForm.MatchString(bootstrap) {
		l.fail(block.at("bootstrap"), block.where, fmt.Sprintf("%q is no kind of bootstrap", clip(bootstrap)),
			"It is one word, such as \"cloud-init\".")
	}
	block.need("refs", "refs = { \"aws.frankfurt\" = \"ami-0abc\" }")
	refs, ok := block.textMap("refs")
	result.broken = !ok
	for _, key := range slices.Sorted(maps.Keys(refs)) {
		l.checkRef(block, key, refs[key])
	}
	block.close()
	result.Digest, result.Bootstrap, result.refs = digest, bootstrap, refs
	l.images[result.Name] = result
}

// checkRef looks at one entry of refs. An entry for a plugin that this
// definition doesn't use is only worth a warning: images are shared by copying.
func (l *loader) checkRef(block *body, key, ref string) {
	at := block.at("refs")
	if item, found := objectItem(block.attribute("refs").Expr, key); found {
		at = item.KeyExpr.Range()
	}
	if !refKeyForm.MatchString(key) {
		l.fail(at, block.where, fmt.Sprintf("%q names no provider", clip(key)),
			"References are listed by PLUGIN.NAME of a provider block, such as \"aws.frankfurt\", or by PLUGIN for all of its blocks.")
		return
	}
	if ref == "" {
		l.fail(at, block.where, fmt.Sprintf("The reference for %q is empty", key), "Write what the provider calls this image.")
	}
	plugin, _, exact := strings.Cut(key, ".")
	known := l.pluginNames()
	subject := plugin
	if exact && slices.Contains(known, plugin) {
		known, subject = l.scope.names["provider"], key
	}
	if !slices.Contains(known, subject) {
		l.warn(at, block.where, fmt.Sprintf("The reference for %q is never used", key),
			strings.TrimSpace(fmt.Sprintf("No such provider is declared. %s", didYouMean(subject, known))))
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
			detail += fmt.Sprintf(" There is: %s.", quotedList(slices.Sorted(maps.Keys(found.refs))))
		}
		l.fail(at, block.where, fmt.Sprintf("The image %q can't be used with provider.%s", name, provider),
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
