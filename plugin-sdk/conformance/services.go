package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// knownServices are the optional services that this kit has something to say
// about. The rules of one go into a file of its own, into serviceRules, and leave
// themselves out (offers) where GetInfo doesn't name it.
var knownServices = []string{providerpb.JoinService, providerpb.IdentityService, providerpb.PermissionsService,
	providerpb.BatchService, providerpb.MarketService, providerpb.EventsService, providerpb.CheckService,
	providerpb.AttestationsService}

// reservedServices are names without a meaning yet.
var reservedServices = []string{providerpb.PowerService, providerpb.RebuildService}

var serviceRules = []Rule{
	{
		Name: "services-named", check: servicesNamed,
		Says: "GetInfo names each optional service once, and none that this version doesn't know.",
	},
	{
		Name: "joined-by-a-person", check: joinedByAPerson,
		Says: "Only a plugin whose instances are hosts of an inventory says that a person joins them.",
	},
}

// offers says whether the plugin serves the optional service.
func (b *bench) offers(service string) bool { return slices.Contains(b.info.GetServices(), service) }

func servicesNamed(_ context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	named := map[string]bool{}
	var unknown []string
	for _, service := range b.info.GetServices() {
		if service == "" || named[service] {
			return fmt.Errorf("the services %q have an empty or a repeated name", b.info.GetServices())
		}
		named[service] = true
		if slices.Contains(reservedServices, service) {
			return fmt.Errorf("the name %q is reserved for a service that no version of the contract defines: take it "+
				"out of GetInfoResponse.services", service)
		}
		if !slices.Contains(knownServices, service) {
			unknown = append(unknown, service)
		}
	}
	if len(unknown) > 0 {
		return skip("this version has no rules about %q: a newer forgeyard-fleet may", unknown)
	}
	return nil
}

func joinedByAPerson(_ context.Context, b *bench) error {
	switch {
	case b.info == nil:
		return errNoInfo
	case !b.offers(providerpb.JoinService):
		return skip("GetInfo doesn't name %q", providerpb.JoinService)
	case b.info.GetOwnership() != providerpb.Ownership_OWNERSHIP_ASSIGNED:
		return fmt.Errorf(
			"a person joins its hosts, and its ownership is %v: it is OWNERSHIP_ASSIGNED where instances are hosts of "+
				"an inventory", b.info.GetOwnership())
	}
	return nil
}
