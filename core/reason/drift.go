package reason

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// OtherClass: an instance was made for another capacity class than the fleet has now.
type OtherClass struct{}

// Text implements Detail.
func (OtherClass) Text() string { return "made for another capacity class" }

// OtherInstanceBlock: an instance was made from an older instance block.
type OtherInstanceBlock struct{}

// Text implements Detail.
func (OtherInstanceBlock) Text() string { return "made from an older instance block" }

// OtherImage: an instance runs another image or agent version than new ones get.
type OtherImage struct{}

// Text implements Detail.
func (OtherImage) Text() string { return "outdated image or agent version" }

// OtherScheduler: an instance was registered with another scheduler than the fleet has now.
type OtherScheduler struct{}

// Text implements Detail.
func (OtherScheduler) Text() string { return "the fleet's scheduler has changed" }

// OtherProvider: an instance was made by another provider block.
type OtherProvider struct{}

// Text implements Detail.
func (OtherProvider) Text() string { return "made by another provider block" }

// WeakerAdmission: an instance was admitted under a policy that asked for less.
type WeakerAdmission struct{}

// Text implements Detail.
func (WeakerAdmission) Text() string { return "admitted under a weaker admission policy" }

// AssetMissing: a joined host isn't in the inventory any more.
type AssetMissing struct {
	Asset string `json:"asset"`
}

// Text implements Detail.
func (d AssetMissing) Text() string {
	return fmt.Sprintf("asset %s is no longer in the inventory", d.Asset)
}

// AssetUnsuitable: a joined host is no longer one that the fleet may have.
type AssetUnsuitable struct {
	Asset   string `json:"asset"`
	Because Reason `json:"because"`
}

// Text implements Detail.
func (d AssetUnsuitable) Text() string {
	return fmt.Sprintf("asset %s no longer belongs to the fleet: %s", d.Asset, d.Because.Text())
}

// AssetNotListed: a fleet's instance block lists the assets that it may have, and this isn't
// one.
type AssetNotListed struct {
	Assets List[string] `json:"assets"`
}

// Text implements Detail.
func (d AssetNotListed) Text() string {
	return "the fleet's hosts are " + text.List(d.Assets.parts(func(name string) string { return name }))
}

// AssetLabelDiffers: a fleet asks for another value of a label than the asset has.
type AssetLabelDiffers struct {
	Label    string `json:"label"`
	Required string `json:"required"`
	Has      string `json:"has,omitempty"`
}

// Text implements Detail.
func (d AssetLabelDiffers) Text() string {
	return fmt.Sprintf("the fleet requires the label %s = %q, and the host has %q", d.Label, d.Required, d.Has)
}

// AssetPlatformDiffers: an asset has another platform than the fleet's class.
type AssetPlatformDiffers struct {
	Required string `json:"required"`
	Has      string `json:"has"`
}

// Text implements Detail.
func (d AssetPlatformDiffers) Text() string {
	return fmt.Sprintf("the fleet's class requires %s, and the host is %s", d.Required, d.Has)
}

// ZoneDisallowed: an instance is in a zone where the fleet may not be any more.
type ZoneDisallowed struct {
	Zone string `json:"zone"`
}

// Text implements Detail.
func (d ZoneDisallowed) Text() string {
	return fmt.Sprintf("in the zone %s, which is no longer allowed", text.Quote(d.Zone))
}

// RegionDisallowed: an instance is in a region where the fleet may not be any more.
type RegionDisallowed struct {
	Region string `json:"region"`
}

// Text implements Detail.
func (d RegionDisallowed) Text() string {
	return fmt.Sprintf("in the region %s, which is no longer allowed", text.Quote(d.Region))
}

// HostileDisallowed: an instance is registered for hostile jobs, which the policy doesn't
// allow any more.
type HostileDisallowed struct{}

// Text implements Detail.
func (HostileDisallowed) Text() string {
	return "registered for hostile jobs, which the policy no longer allows"
}

// HostileAllowed: an instance isn't registered for hostile jobs, which the policy allows now.
type HostileAllowed struct{}

// Text implements Detail.
func (HostileAllowed) Text() string {
	return "not registered for hostile jobs, which the policy allows now"
}

var driftReasons = []Detail{
	OtherClass{},
	OtherInstanceBlock{},
	OtherImage{},
	OtherScheduler{},
	OtherProvider{},
	WeakerAdmission{},
	AssetMissing{"mac-7"},
	AssetUnsuitable{"mac-7", Of(AssetPlatformDiffers{"darwin/arm64", "linux/amd64"})},
	AssetNotListed{ListOf("mac-1", "mac-2")},
	AssetLabelDiffers{"room", "a", "b"},
	AssetPlatformDiffers{"darwin/arm64", "linux/amd64"},
	ZoneDisallowed{"eu-central-1a"},
	RegionDisallowed{"eu-central-1"},
	HostileDisallowed{},
	HostileAllowed{},
}
