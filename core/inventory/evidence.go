package inventory

import (
	"errors"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory/ownership"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// Doubt says what the evidence lacks that a resource with an instance's key is the
// instance's, at the level that the provider declares; zero: nothing. claim is nil
// where the provider makes its hosts.
//
//	SIGNED    the tags are those of the instance, and carry our proof of them
//	NAMED     the key is the resource's name, and no tag contradicts it
//	ASSIGNED  an asset that is claimed in our store
func (o Owner) Doubt(
	f fleet.ProviderFacts,
	i *fleet.CapacityInstance,
	claim *fleet.AssetClaim,
	res fleet.Resource,
) reason.Reason {
	if i.Adopted != "" {
		return reason.Reason{} // an operator said so, of this very id
	}
	if why := o.contradicted(i, res.Tags); !why.IsZero() {
		return why
	}
	switch f.Ownership {
	case fleet.OwnershipSigned:
		return o.unsigned(i, res.Tags)
	case fleet.OwnershipNamed:
		return reason.Reason{} // found by its name
	case fleet.OwnershipAssigned:
		if claim != nil && claim.Provider == i.Provider && claim.Asset == string(res.ID) {
			return reason.Reason{}
		}
		return reason.Of(reason.AssetUnclaimed{Asset: string(res.ID)})
	}
	return unprovable(f)
}

// unsigned says why tags don't prove that the resource is the instance's.
func (o Owner) unsigned(i *fleet.CapacityInstance, tags map[string]string) reason.Reason {
	if own := ClaimIn(tags); own != o.claimOf(*i) {
		return reason.Of(reason.TagsDiffer{})
	}
	if err := o.Keys.Verify(tags[ProofTag], o.claimOf(*i)); err != nil {
		return rejected(err)
	}
	return reason.Reason{}
}

// contradicted says which tag names something else than the instance. Where the
// plugin stores no tags there are none to contradict.
func (o Owner) contradicted(i *fleet.CapacityInstance, tags map[string]string) reason.Reason {
	for _, t := range []struct{ tag, want string }{
		{InstallationTag, o.Installation}, {FleetTag, string(i.Fleet)}, {InstanceTag, string(i.ID)}, {KeyTag, string(i.Key)},
	} {
		if got, there := tags[t.tag]; there && got != t.want {
			return reason.Of(reason.TagContradicts{Tag: t.tag, Has: got, Want: t.want})
		}
	}
	return reason.Reason{}
}

// Deletable says whether this version can prove that a provider's resources are
// ours to delete. Where it can't, it makes none.
func Deletable(f fleet.ProviderFacts) bool {
	switch f.Ownership {
	case fleet.OwnershipSigned, fleet.OwnershipNamed, fleet.OwnershipAssigned:
		return true
	}
	return false
}

func unprovable(f fleet.ProviderFacts) reason.Reason {
	return reason.Of(reason.OwnershipUnknown{Plugin: f.Plugin, Ownership: string(f.Ownership)})
}

// rejected is why a proof isn't accepted, as ownership.Keyring.Verify said.
func rejected(err error) reason.Reason {
	var why *ownership.RefusalError
	if errors.As(err, &why) {
		return reason.Of(reason.ProofRejected{Kind: string(why.Reason), Key: why.KeyID})
	}
	return reason.Of(reason.ProofRejected{})
}

// Undeletable says that a provider's resources aren't Deletable.
func Undeletable(f fleet.ProviderFacts) reason.Reason {
	return reason.Of(reason.NotDeletable{Plugin: f.Plugin, Ownership: string(f.Ownership)})
}

// SecondaryResources are the secondary resources of an instance that are proven to be its own:
// by their own proof, by the key as their name, or by a name with the key in it
// and the instance that they say they belong to.
func (o Owner) SecondaryResources(p *Provider, l *Listing, i *fleet.CapacityInstance) []fleet.Resource {
	if p.Facts == nil || i.Adopted != "" {
		return nil
	}
	var own []fleet.Resource
	for _, res := range l.partsByKey[i.Key] {
		if o.belongs(*p.Facts, i, res) {
			own = append(own, res)
		}
	}
	if i.ProviderInstance == "" {
		return own
	}
	for _, res := range l.partsByOwner[i.ProviderInstance] {
		if KeyOf(res) != i.Key && o.belongs(*p.Facts, i, res) {
			own = append(own, res)
		}
	}
	return own
}

func (o Owner) belongs(f fleet.ProviderFacts, i *fleet.CapacityInstance, res fleet.Resource) bool {
	if !o.contradicted(i, res.Tags).IsZero() || res.Key != "" && res.Key != i.Key {
		return false
	}
	switch {
	case !Deletable(f):
		return false
	case o.unsigned(i, res.Tags).IsZero():
		return true
	case f.Ownership == fleet.OwnershipNamed && res.Key == i.Key:
		return true
	}
	return i.ProviderInstance != "" && res.BelongsTo == i.ProviderInstance &&
		strings.Contains(string(res.ID), string(i.Key))
}
