package libvirt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// machineType is what every offer is of: the instance block says the rest.
const machineType = "machine"

// Offers lists each host of the fleet as a zone, with how many machines of the
// block it still has room for. A host that can't be seen makes no offer.
func (p *hosts) Offers(ctx context.Context, instance Instance) (provider.OfferList, error) {
	n, err := needOf(instance)
	if err != nil {
		return provider.OfferList{}, &provider.Error{Class: provider.Invalid, Err: err}
	}
	list := provider.OfferList{AsOf: p.now()}
	var hidden []error
	var tooSmall []string
	for _, r := range p.rooms(ctx) {
		switch {
		case len(instance.Hosts) > 0 && !slices.Contains(instance.Hosts, r.host.name):
			continue
		case r.err != nil:
			hidden = append(hidden, r.err)
			continue
		}
		if !r.whole.fits(need{}, n) {
			tooSmall = append(tooSmall,
				fmt.Sprintf("host %s has %d and %s for machines", r.host.name, r.whole.vcpus, showSize(r.whole.memory)))
		}
		left := r.times(n)
		if devices := addresses(instance.Devices); len(devices) > 0 {
			left = min(left, 1)
			if slices.ContainsFunc(devices, func(d string) bool { return r.devices[d] }) {
				left = 0
			}
		}
		available := uint32(min(left, math.MaxUint32))
		list.Offers = append(list.Offers, provider.Offer{
			Zone: r.host.name, MachineType: machineType, Lifetime: "stable",
			Resources: provider.Resources{CPUMilli: int64(n.vcpus) * 1000, MemoryBytes: int64(n.memory)},
			Available: &available,
		})
	}
	switch {
	case len(list.Offers) == 0 && len(hidden) > 0:
		return provider.OfferList{}, &provider.Error{Class: worst(hidden), Err: errors.Join(hidden...)}
	case len(list.Offers) == 0:
		return provider.OfferList{},
			&provider.Error{Class: provider.Invalid,
				Err: fmt.Errorf("hosts = %q names none of the provider block", instance.Hosts)}
	case len(tooSmall) == len(list.Offers) && len(hidden) == 0:
		return provider.OfferList{}, &provider.Error{Class: provider.Invalid, Err: fmt.Errorf(
			"no host is big enough for %d processors and %s of memory, even empty: %s", n.vcpus, showSize(n.memory),
			strings.Join(tooSmall, "; "))}
	}
	return list, nil
}
