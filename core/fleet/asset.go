package fleet

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Asset is a host that exists already: one of a provider's inventory, free or
// claimed. The provider lists it; which instance has it is the manager's
// knowledge.
type Asset struct {
	// ID is stable and unique within the provider: a serial number or a name.
	ID       string   `json:"id"`
	Platform Platform `json:"platform"`
	// Labels are what an AssetChoice may ask for.
	Labels map[string]string `json:"labels,omitempty"`
	// Detail is one line for a person.
	Detail string `json:"detail,omitempty"`
}

// The words of the plugin contract for assets: the kind of the resource, and the
// tags that tell its platform. Every other tag is a label.
const (
	AssetKind    = "asset"
	assetTagOS   = "os"
	assetTagArch = "arch"
)

// AssetsOf are the assets among resources, sorted by id.
func AssetsOf(resources []Resource) []Asset {
	var assets []Asset
	for _, r := range resources {
		if r.Kind != AssetKind || r.ID == "" {
			continue
		}
		a := Asset{ID: string(r.ID), Platform: Platform{OS: r.Tags[assetTagOS], Arch: r.Tags[assetTagArch]}, Detail: r.Detail}
		for name, value := range r.Tags {
			if name == assetTagOS || name == assetTagArch {
				continue
			}
			if a.Labels == nil {
				a.Labels = map[string]string{}
			}
			a.Labels[name] = value
		}
		assets = append(assets, a)
	}
	slices.SortFunc(assets, func(a, b Asset) int { return strings.Compare(a.ID, b.ID) })
	return assets
}

// AssetChoice is which assets a fleet may take: what its instance block says in
// "hosts" and "labels", the two attributes of the plugin contract that the
// manager reads, since it is the manager that claims. Empty: any of the class's
// platform.
type AssetChoice struct {
	Hosts  []string          `json:"hosts"`
	Labels map[string]string `json:"labels"`
}

// AssetChoice reads the fleet's instance block.
func (f RunnerFleet) AssetChoice() AssetChoice {
	var c AssetChoice
	// The plugin's schema made sure of the types; another plugin's attributes of
	// these names choose nothing.
	_ = json.Unmarshal(f.Instance, &c)
	return c
}

// Unsuitable says why an asset can't be one of the fleet's hosts; zero: it can.
func (f RunnerFleet) Unsuitable(a Asset) reason.Reason {
	choice := f.AssetChoice()
	if len(choice.Hosts) > 0 && !slices.Contains(choice.Hosts, a.ID) {
		return reason.Of(reason.AssetNotListed{Assets: reason.ListOf(choice.Hosts...)})
	}
	for _, name := range slices.Sorted(maps.Keys(choice.Labels)) {
		if want := choice.Labels[name]; a.Labels[name] != want {
			return reason.Of(reason.AssetLabelDiffers{Label: name, Required: want, Has: a.Labels[name]})
		}
	}
	if want := f.Class.Platform; a.Platform != want {
		return reason.Of(
			reason.AssetPlatformDiffers{Required: want.OS + "/" + want.Arch, Has: a.Platform.OS + "/" + a.Platform.Arch},
		)
	}
	return reason.Reason{}
}

// AssetClaim binds one asset to the one instance that has it, from the making of
// its operation until the instance is Terminated. Only the store prevents two
// instances from having one asset.
type AssetClaim struct {
	Provider ProviderAddress    `json:"provider"`
	Asset    string             `json:"asset"`
	Instance CapacityInstanceID `json:"instance"`
	// At and By say when and by whom the newest join token was made.
	At time.Time `json:"at"`
	By string    `json:"by"`
	// Nonce, TokenHash and Expires are of that token. They stand here and not in
	// the operation, since the loop writes operations and never a claim: a token
	// that is renewed can't be lost to a step that runs meanwhile. Expires is
	// zero where no person joins the host.
	Nonce     []byte    `json:"nonce,omitempty"`
	TokenHash string    `json:"token_hash,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

// JoinTokenLife is how long a host may take to be joined.
const JoinTokenLife = 24 * time.Hour

// Unjoined says that the instance waits for a person to join its host: it has a
// claim, and no agent has enrolled.
func (i CapacityInstance) Unjoined() bool {
	return i.Asset != "" && i.Runner == "" && (i.State == Provisioning || i.State == Bootstrapping)
}
