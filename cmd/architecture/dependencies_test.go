package architecture

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// systems are what agents are built for; their files differ.
var systems = []string{"linux", "darwin", "windows"}

// agentPackages are the packages of core, besides the agent's own, that an agent may
// use. They import the standard library only.
var agentPackages = []string{prefix + "core/agentapi", prefix + "core/plainjson", prefix + "core/replacefile"}

func TestTheAgentNeedsTheStandardLibraryAndXSysAlone(t *testing.T) {
	for _, system := range systems {
		for _, name := range []string{"agent", "agentapi", "agent/isolation", "agent/lockfile", "agent/metadata",
			"agent/process"} {
			imports, _ := dependencies(t, "core", prefix+"core/"+name, "GOOS="+system)
			for _, path := range imports {
				allowed := strings.HasPrefix(path, "golang.org/x/sys/") || strings.HasPrefix(path, prefix+"core/agent/") ||
					slices.Contains(agentPackages, path)
				if !allowed {
					t.Errorf(
						"core/%s on %s depends on %s; hosts get a small agent of the standard library and x/sys",
						name,
						system,
						path,
					)
				}
			}
		}
	}
}

func TestTheAgentsBinaryLinksNothingOfTheManager(t *testing.T) {
	for _, system := range systems {
		imports, _ := dependencies(t, "cmd", prefix+"cmd/forgeyard-runner", "GOOS="+system)
		for _, path := range imports {
			allowed := strings.HasPrefix(path, "golang.org/x/sys/") || slices.Contains([]string{
				prefix + "core/agent",
				prefix + "core/queue/worker",
				prefix + "plugin-sdk/bootstrap",
				prefix + "cmd/internal/version",
			}, path) || strings.HasPrefix(path, prefix+"core/agent/") || slices.Contains(agentPackages, path)
			if !allowed {
				t.Errorf("forgeyard-runner on %s links %s", system, path)
			}
		}
	}
}

// The reference scheduler shares no package with the manager, like every scheduler.
func TestTheQueuesBinaryLinksNothingOfTheManager(t *testing.T) {
	imports, _ := dependencies(t, "cmd", prefix+"cmd/forgeyard-queue")
	own := []string{
		"core/fleet",
		"core/plainjson",
		"core/problem",
		"core/problem/humaerror",
		"core/queue",
		"core/queue/worker",
		"core/reason",
		"core/reason/text",
		"core/scheduler",
		"core/scheduler/forgeyard",
		"cmd/internal/usage",
		"cmd/internal/version",
	}
	for _, path := range imports {
		rest, ours := strings.CutPrefix(path, prefix)
		huma := strings.HasPrefix(path, "github.com/danielgtaylor/huma/v2") // its routes, and the document of them
		levenshtein := path == "github.com/agext/levenshtein"               // for "did you mean", as in forgeyard-fleet
		cobra := strings.HasPrefix(path, "github.com/spf13/") ||
			strings.HasPrefix(path, "github.com/inconshreveable/mousetrap")
		if ours && !slices.Contains(own, rest) ||
			!ours && !cobra && !huma && !levenshtein && path != "github.com/oklog/ulid/v2" {
			t.Errorf("forgeyard-queue links %s", path)
		}
	}
}

// providerSDK matches the modules of clouds, hypervisors and container engines.
var providerSDK = regexp.MustCompile(
	`(?i)(aws|amazon|azure|cloud\.google|google\.golang\.org/api|libvirt|hcloud|hetzner|gophercloud|openstack` +
		`|govmomi|vmware|proxmox|godo|digitalocean|linode|scaleway|vultr|oci-go|equinix|packngo|ovh|exoscale|k8s\.io|kubevirt|docker|containerd|podman|incus|lxd|firecracker|nomad)`,
)

func TestNoProviderIsPartOfTheManager(t *testing.T) {
	imports, modules := dependencies(t, "cmd", prefix+"cmd/forgeyard-fleet")
	for module := range modules {
		if providerSDK.MatchString(module) || strings.HasPrefix(module, prefix+"plugins/") {
			t.Errorf("forgeyard-fleet links %s; providers live in plugins", module)
		}
	}
	for _, path := range imports {
		if path == prefix+"plugin-sdk/provider" {
			t.Errorf("forgeyard-fleet links %s, which is for plugins", path)
		}
	}
}

func TestShippedBinariesLinkNoTestCode(t *testing.T) {
	for _, program := range []string{"forgeyard-fleet", "forgeyard-runner", "forgeyard-queue"} {
		imports, _ := dependencies(t, "cmd", prefix+"cmd/"+program)
		for _, path := range imports {
			if strings.HasPrefix(path, prefix+"core/testonly/") {
				t.Errorf("%s links %s, which is for tests", program, path)
			}
		}
	}
}

func TestNoPluginDependsOnCore(t *testing.T) {
	checked := 0
	for _, module := range modules(t) {
		if !strings.HasPrefix(module, "plugins/") && module != "examples/plugin-process" {
			continue
		}
		checked++
		for _, p := range packages(t, module) {
			if strings.HasPrefix(p.ImportPath, prefix+"core/") || strings.HasPrefix(p.ImportPath, prefix+"cmd/") {
				t.Errorf("%s depends on %s; a plugin needs plugin-sdk alone", module, p.ImportPath)
			}
		}
	}
	if checked < 2 {
		t.Errorf("only %d plugins were found", checked)
	}
}

// sdkModules are what the plugin SDK may bring into a provider's program:
// go-plugin, grpc, protobuf and hclog with what these need.
var sdkModules = []string{
	"github.com/hashicorp/go-plugin",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
	"github.com/hashicorp/go-hclog",
	"golang.org/x/sys", // one system call, and grpc's own
	"github.com/hashicorp/yamux",
	"github.com/oklog/run", // go-plugin
	"github.com/fatih/color",
	"github.com/mattn/go-colorable",
	"github.com/mattn/go-isatty", // hclog
	"github.com/golang/protobuf",
	"golang.org/x/net",
	"golang.org/x/text",
	"google.golang.org/genproto/googleapis/rpc", // grpc
}

func TestThePluginSDKBringsFewModules(t *testing.T) {
	for _, p := range packages(t, "plugin-sdk") {
		if p.Standard || p.Module == nil || p.Module.Path == prefix+"plugin-sdk" {
			continue
		}
		if !slices.Contains(sdkModules, p.Module.Path) {
			t.Errorf(
				"plugin-sdk depends on %s (package %s); every provider's author would have to carry it",
				p.Module.Path,
				p.ImportPath,
			)
		}
	}
}
