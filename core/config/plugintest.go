package config

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/source"
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
	// Count is a command that prints how many resources the infrastructure has; empty:
	// there is none.
	Count []string
	// PageSize is how many resources a page of the infrastructure's list has; 0: not known.
	PageSize int
	// ProxyAttribute is the attribute of the provider block with the URL that the kit's proxy
	// takes the place of; "": none.
	ProxyAttribute string
}

// LoadPluginTest reads the file for a plugin that describes itself so.
func LoadPluginTest(file source.File, plugin fleet.PluginSchemas) (PluginTest, diagnostic.List) {
	l := newLoader()
	var test PluginTest
	root, ok := l.parseAll([]source.File{file})
	if !ok {
		return test, l.Sorted()
	}
	providers := root.children("provider", "PLUGIN", "NAME")
	if len(providers) != 1 {
		l.Fail(root.header, "", fmt.Sprintf("Found %s, want 1", diagnostic.Counted(len(providers), "provider block")),
			fmt.Sprintf("A plugin is tested with one: provider %q \"test\" { … }", plugin.Name))
		return test, l.Sorted()
	}
	if provider := providers[0]; provider.labels[0] != plugin.Name {
		l.Fail(provider.header, provider.where, fmt.Sprintf("The plugin is called %q", plugin.Name),
			fmt.Sprintf("The block is for another one. Write: provider %q \"test\" { … }", plugin.Name))
		return test, l.Sorted()
	}
	schemas := newPlugin(plugin)
	provider := providers[0]
	provider.scope = l.scope.WithSecrets()
	config, _ := provider.pluginBody(schemas.provider)
	provider.close()
	test.Provider = canonical(config)
	instance := root.single("instance")
	if instance == nil { // so that required attributes are missed
		instance = &body{
			document:  l.document,
			Collector: l.Collector,
			scope:     l.scope,
			where:     "instance",
			path:      "instance",
			header:    root.header,
			syntax:    &hclsyntax.Body{},
		}
	}
	config, _ = instance.pluginBody(schemas.instance)
	instance.close()
	test.Instance = canonical(config)
	if settings := root.single("test"); settings != nil {
		readPluginTest(settings, &test)
	}
	root.close()
	return test, l.Sorted()
}

// testBlock is what a plugin is tested with besides its own blocks.
type testBlock struct {
	Assets      []string           `fleet:"assets"`
	Image       string             `fleet:"image"`
	AgentURL    string             `fleet:"agent_url"`
	AgentSHA256 string             `fleet:"agent_sha256"`
	Patience    time.Duration      `fleet:"patience" min:"1s"`
	Env         []string           `fleet:"env" list:"set" form:"environment"`
	Count       []string           `fleet:"count" list:"program" example:"[\"./count.sh\"]"`
	PageSize    int                `fleet:"page_size" min:"1" max:"100"`
	Platform    *testPlatformBlock `fleet:"platform,block"`
	Proxy       *testProxyBlock    `fleet:"proxy,block"`
	Outage      *outageBlock       `fleet:"outage,block"`
}

// testPlatformBlock is a fleet.Platform of any names: the kit says which it tests.
type testPlatformBlock struct {
	OS   string `fleet:"os,required" example:"linux"`
	Arch string `fleet:"arch,required" example:"x86_64"`
}

// testProxyBlock is where the kit's proxy is put.
type testProxyBlock struct {
	Attribute string `fleet:"attribute,required" example:"endpoint"`
}

// outageBlock is how the infrastructure is made unreachable and reachable again.
type outageBlock struct {
	Begin []string `fleet:"begin,required" list:"program" example:"[\"mv\", \"/srv/instances\", \"/srv/away\"]"`
	End   []string `fleet:"end,required" list:"program" example:"[\"mv\", \"/srv/away\", \"/srv/instances\"]"`
}

func readPluginTest(block *body, test *PluginTest) {
	var written testBlock
	block.read(&written)
	block.close()
	test.Assets, test.Image, test.AgentURL, test.AgentSHA256 = written.Assets, written.Image, written.AgentURL,
		written.AgentSHA256
	test.Patience, test.Env = written.Patience, written.Env
	test.Count, test.PageSize = written.Count, written.PageSize
	if written.Proxy != nil {
		test.ProxyAttribute = written.Proxy.Attribute
	}
	if written.Platform != nil {
		test.Platform = fleet.Platform(*written.Platform)
	}
	if written.Outage != nil {
		test.OutageBegin, test.OutageEnd = written.Outage.Begin, written.Outage.End
	}
}
