package config

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// PluginTest is the file that says what a plugin is tested with: a provider
// block and an instance block as in a fleet file, and a test block.
type PluginTest struct {
	// Provider is the block's body, with references in the place of secrets.
	Provider json.RawMessage
	Instance json.RawMessage
	// Assets are the hosts that may be taken.
	Assets []string
	Image  string
	// Platform is zero where the file doesn't say it.
	Platform fleet.Platform
	// AgentURL and AgentSHA256 are where hosts fetch the agent.
	AgentURL, AgentSHA256 string
	// Env names further environment variables that the plugin may see.
	Env []string
	// Patience is how long a slow create or removal may take; 0: the kit decides.
	Patience time.Duration
	// OutageBegin and OutageEnd are commands that make the infrastructure
	// unreachable and mend it; both empty: there are none.
	OutageBegin, OutageEnd []string
}

// LoadPluginTest reads the file for a plugin that describes itself so.
func LoadPluginTest(source Source, plugin fleet.PluginSchemas) (PluginTest, Diagnostics) {
	l := newLoader()
	var test PluginTest
	root, ok := l.parseAll([]Source{source})
	if !ok {
		return test, l.sorted()
	}
	providers := root.children("provider", "PLUGIN", "NAME")
	if len(providers) != 1 {
		l.fail(root.header, "", fmt.Sprintf("There are %s", counted(len(providers), "provider block")),
			fmt.Sprintf("A plugin is tested with one: provider %q \"test\" { … }", plugin.Name))
		return test, l.sorted()
	}
	if provider := providers[0]; provider.labels[0] != plugin.Name {
		l.fail(provider.header, provider.where, fmt.Sprintf("The plugin is called %q", plugin.Name),
			fmt.Sprintf("The block is for another one. Write: provider %q \"test\" { … }", plugin.Name))
		return test, l.sorted()
	}
	provider := providers[0]
	provider.scope = l.scope.withSecrets()
	config, _ := provider.pluginBody(plugin.Name, plugin.Provider)
	provider.close()
	test.Provider = canonical(config)
	instance := root.single("instance")
	if instance == nil { // so that required attributes are missed
		instance = &body{collector: l.collector, scope: l.scope, where: "instance", path: "instance", header: root.header, syntax: &hclsyntax.Body{}}
	}
	config, _ = instance.pluginBody(plugin.Name, plugin.Instance)
	instance.close()
	test.Instance = canonical(config)
	if settings := root.single("test"); settings != nil {
		l.readPluginTest(settings, &test)
	}
	root.close()
	return test, l.sorted()
}

func (l *loader) readPluginTest(block *body, test *PluginTest) {
	test.Assets, _ = block.texts("assets")
	test.Image, _ = block.text("image")
	test.AgentURL, _ = block.text("agent_url")
	test.AgentSHA256, _ = block.text("agent_sha256")
	test.Patience, _ = block.duration("patience", time.Second)
	if value, attribute, ok := block.value("env"); ok {
		test.Env = block.environmentNames("env", value, attribute.Expr)
	}
	if platform := block.single("platform"); platform != nil {
		platform.need("os", `os = "linux"`)
		platform.need("arch", `arch = "x86_64"`)
		test.Platform.OS, _ = platform.text("os")
		test.Platform.Arch, _ = platform.text("arch")
		platform.close()
	}
	if outage := block.single("outage"); outage != nil {
		outage.need("begin", `begin = ["mv", "/srv/instances", "/srv/away"]`)
		outage.need("end", `end = ["mv", "/srv/away", "/srv/instances"]`)
		test.OutageBegin = outage.command("begin")
		test.OutageEnd = outage.command("end")
		outage.close()
	}
	block.close()
}

// command is a program with its arguments.
func (b *body) command(name string) []string {
	words, ok := b.texts(name)
	if ok && len(words) == 0 {
		b.fail(b.at(name), b.where, fmt.Sprintf("%q is empty", name), "It is a program with its arguments, such as [\"systemctl\", \"stop\", \"lab\"].")
	}
	return words
}
