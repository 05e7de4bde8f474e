// Package manual is the provider of hosts that exist already.
//
// Its block is the inventory, and that is all it has: it lists the hosts, says
// that a claimed one is there, and forgets a released one. It never calls a host,
// makes none and ends none; a person joins each by a command that the manager
// prints, and only the manager's store knows which host belongs to which instance.
package manual

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Version is the plugin's own.
const Version = "0.1.0"

// Config is the provider block: the inventory.
type Config struct {
	Hosts []Host `fleet:"host,block,required" doc:"One host that exists already."`
}

// Host is one host of the inventory.
type Host struct {
	Name    string            `fleet:"name,required" doc:"What the host is called here: a serial number or a name, unique in the block. It stays the same for as long as it is the same machine."`
	OS      string            `fleet:"os" default:"linux" doc:"linux or darwin."`
	Arch    string            `fleet:"arch" default:"x86_64" doc:"x86_64 or arm64."`
	Address string            `fleet:"address" doc:"Where the host is found, for people. Where it is an IP address and the fleet says match_address, the agent must call from it. The manager never calls it."`
	Labels  map[string]string `fleet:"labels" doc:"What a fleet may choose by."`
	Attests []string          `fleet:"attests" doc:"What you vouch for of this host, since what its agent says doesn't count: any of kvm, gpu, signing and confidential."`
	Notes   string            `fleet:"notes" doc:"One line that is shown with the host."`
}

// Instance is the instance block: which hosts a fleet may have. With neither, any
// of the platform of its class.
type Instance struct {
	Hosts  []string          `fleet:"hosts" doc:"The names of the hosts that may join the fleet. None: any that the labels choose."`
	Labels map[string]string `fleet:"labels" doc:"Only hosts that have all of these labels may join the fleet."`
}

// Plugin describes the plugin.
func Plugin() provider.Plugin[Config, Instance] {
	return provider.Plugin[Config, Instance]{
		Name: "manual", Version: Version, New: newInventory,
		Idempotency: provider.IdempotentByAsset, Ownership: provider.OwnershipAssigned, Joined: true,
		Attestations: attestable, Unattestable: unattestable,
	}
}

var (
	namePattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	labelPattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
)

// attestable are the words of the contract for what a host can't show by itself.
var attestable = provider.AttestWords()

// unattestable rules out what no host that a fleet may take is vouched for.
func unattestable(c Config, i Instance) (missing []provider.Unattestable) {
	for _, word := range attestable {
		attests := slices.ContainsFunc(c.Hosts, func(h Host) bool {
			named := len(i.Hosts) == 0 || slices.Contains(i.Hosts, h.Name)
			for name, value := range i.Labels {
				named = named && h.Labels[name] == value
			}
			return named && slices.Contains(h.Attests, word)
		})
		if !attests {
			missing = append(missing, provider.Unattestable{
				Attestation: word, Reason: "attests of no host that the fleet may take has " + word,
			})
		}
	}
	return missing
}

const nameForm = "A name has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit."

// Validate finds what the types can't say: names that are invalid or are used
// twice, platforms that no agent is for.
func (c Config) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	first := map[string]int{}
	for n, h := range c.Hosts {
		at := provider.At("host").Index(n)
		complain := func(attribute, summary, detail string) {
			found = append(found, provider.Diagnostic{Path: at.Attr(attribute), Summary: summary, Detail: detail})
		}
		if !namePattern.MatchString(h.Name) {
			complain("name", fmt.Sprintf("%q can't be the name of a host", h.Name), nameForm)
		} else if earlier, taken := first[h.Name]; taken {
			complain("name", fmt.Sprintf("The name %q is used twice", h.Name),
				fmt.Sprintf("Host number %d has it already. Each host has a name of its own, such as its serial number.",
					earlier+1))
		} else {
			first[h.Name] = n
		}
		if h.OS == "windows" {
			complain("os", "Hosts with Windows can't be joined yet", "This version's command is for Linux and macOS.")
		} else if h.OS != "linux" && h.OS != "darwin" {
			complain("os", fmt.Sprintf("There is no agent for the system %q", h.OS), "Write \"linux\" or \"darwin\".")
		}
		if h.Arch != "x86_64" && h.Arch != "arm64" {
			complain("arch", fmt.Sprintf("There is no agent for the processor %q", h.Arch), "Write \"x86_64\" or \"arm64\".")
		}
		for _, word := range h.Attests {
			if !slices.Contains(attestable, word) {
				complain("attests", fmt.Sprintf("%q is nothing to vouch for", word),
					"Write any of "+strings.Join(attestable, ", ")+". Everything else the host shows by itself.")
			}
		}
		for _, label := range slices.Sorted(maps.Keys(h.Labels)) {
			if !labelPattern.MatchString(label) || label == providerpb.AssetOS || label == providerpb.AssetArch {
				complain("labels", fmt.Sprintf("%q can't be a label", label),
					"A label has lower-case letters, digits, dashes and underscores, begins with a letter, and is neither os nor "+
						"arch: these have attributes of their own.")
			}
		}
	}
	return found
}

// Validate refuses hosts that can't be any.
func (i Instance) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	for n, name := range i.Hosts {
		if !namePattern.MatchString(name) {
			found = append(found,
				provider.Diagnostic{Path: provider.At("hosts").Index(n),
					Summary: fmt.Sprintf("%q can't be the name of a host", name), Detail: nameForm})
		}
	}
	return found
}

// inventory is the block; nothing else is known or kept.
type inventory struct{ hosts []Host }

func newInventory(_ context.Context, c Config, _ provider.Environment) (provider.Provider[Instance], error) {
	return &inventory{hosts: c.Hosts}, nil
}

// Inspect lists every host, claimed or not. Whether an agent runs there is what
// the agent says, so a host of the inventory counts as running.
func (v *inventory) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		for _, h := range v.hosts {
			if !yield(h.resource(), nil) {
				return
			}
		}
	}
}

func (h Host) resource() provider.Resource {
	tags := map[string]string{providerpb.AssetOS: h.OS, providerpb.AssetArch: h.Arch}
	maps.Copy(tags, h.Labels)
	r := provider.Resource{ID: h.Name, Kind: providerpb.AssetKind, State: provider.Running, Tags: tags, Detail: h.Notes,
		Attested: h.Attests}
	if _, err := netip.ParseAddr(h.Address); err == nil {
		r.Addresses = []string{h.Address}
	}
	return r
}

// Provision says that the claimed host is there. Nothing is made, so the same
// request may come as often as it likes.
func (v *inventory) Provision(
	_ context.Context, request provider.ProvisionRequest[Instance],
) (provider.Resource, error) {
	refuse := func(format string, arguments ...any) (provider.Resource, error) {
		return provider.Resource{}, provider.NotCreated(provider.Invalid, fmt.Errorf(format, arguments...))
	}
	if request.Asset == "" {
		return refuse(
			"no host was claimed: hosts of provider \"manual\" are joined by forgeyard-fleet token create --join HOST")
	}
	n := slices.IndexFunc(v.hosts, func(h Host) bool { return h.Name == request.Asset })
	if n < 0 {
		return refuse("the inventory has no host %q", request.Asset)
	}
	h := v.hosts[n]
	if want := request.Platform; h.OS != want.OS || h.Arch != want.Arch {
		return refuse("the host %s is %s/%s, and the fleet's class wants %s/%s", h.Name, h.OS, h.Arch, want.OS, want.Arch)
	}
	r := h.resource()
	r.Kind, r.Existed = "", true
	return r, nil
}

// Terminate releases: the host stays as it is, and nothing here remembers that it
// was claimed.
func (v *inventory) Terminate(context.Context, provider.Ref) (provider.TerminateState, error) {
	return provider.Gone, nil
}
