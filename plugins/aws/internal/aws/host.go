package aws

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// A dedicated host has a longer life than the machine it was allocated for: one for
// Macs is paid for a day at least, and prepared for hours after each machine.
//
//	allocated ──► in use ──► being prepared ──► free ──► in use …
//	                                             └─────► released, once its day is over
//
// Its tags are those of the key that has it, or had it last. So a host that is in use
// belongs to its machine; one that is kept is listed as an asset, which holds up the
// end of no machine; and one that may be released is again what its last machine left
// behind, which the manager proves to be ours and has removed.

// kindAsset is the kind of a listed host that has no instance and can't be released.
const kindAsset = "asset"

// tagClaimed is when a host was taken for the key in its tags, or claimOver. A host
// that was allocated for the key lacks it: the call that allocates must be the same
// whenever it is sent.
const (
	tagClaimed = settings.TagPrefix + "claimed"
	claimOver  = "over"
)

// tagAllocated is the key that a host was allocated for, whichever instance uses it now.
// With the host's client token, which can't be copied, it shows that we allocated it.
const tagAllocated = settings.TagPrefix + "allocated"

// claimLife is how long a host without a machine stays with the key that took it: the
// launch may still have its effect, or come again and need the same host.
const claimLife = signatureLife + listSettle

// macMinimum is how long the vendor keeps a host for Macs allocated at least.
const macMinimum = 24 * time.Hour

// host is a dedicated host that isn't released.
type host struct {
	id, zone, machineType string
	occupant              string // the instance on it; empty: none
	state                 types.AllocationState
	allocated             time.Time
	labels                labels
	foreign               bool // somebody else allocated it, with our tags
}

// hosts lists the hosts that aren't released. Those that are stay in the vendor's list
// for a while.
func (p *cloud) hosts(ctx context.Context, input *ec2.DescribeHostsInput) ([]host, error) {
	seen, err := gather(ctx, p, ec2.NewDescribeHostsPaginator(p.api, input),
		func(page *ec2.DescribeHostsOutput) []types.Host { return page.Hosts }, "list dedicated hosts")
	if err != nil {
		return nil, err
	}
	var all []host
	for _, one := range seen {
		if one.State == types.AllocationStateReleased || one.State == types.AllocationStateReleasedPermanentFailure {
			continue
		}
		h := host{id: sdk.ToString(one.HostId), zone: sdk.ToString(one.AvailabilityZone), state: one.State,
			allocated: sdk.ToTime(one.AllocationTime), labels: read(one.Tags)}
		h.foreign = sdk.ToString(one.ClientToken) != hostToken(h.labels[tagAllocated])
		if one.HostProperties != nil {
			h.machineType = sdk.ToString(one.HostProperties.InstanceType)
		}
		if len(one.Instances) > 0 {
			h.occupant = sdk.ToString(one.Instances[0].InstanceId)
		}
		all = append(all, h)
	}
	return all, nil
}

// paidUntil is when the host may be released at the earliest; zero: at any time.
func (h host) paidUntil() time.Time {
	if !settings.Mac(h.machineType) {
		return time.Time{}
	}
	return h.allocated.Add(macMinimum)
}

// kept says why the host can't be released now; empty: it can.
func (h host) kept(now time.Time) string {
	until := h.paidUntil().UTC().Format(time.RFC3339)
	switch {
	case h.foreign:
		return "somebody else allocated it, with our tags"
	case h.occupant != "":
		return "it holds " + h.occupant
	case h.state == types.AllocationStatePending && now.Before(h.paidUntil()):
		return "it is being prepared for the next machine, and can be released after that and from " + until
	case h.state == types.AllocationStatePending:
		return "it is being prepared for the next machine, and can be released after that"
	case h.state != types.AllocationStateAvailable && h.state != types.AllocationStatePermanentFailure:
		return fmt.Sprintf("its state is %q", h.state)
	case now.Before(h.paidUntil()):
		return "it can be released from " + until
	}
	return ""
}

// free says whether a machine of another key may have the host now. What is being
// prepared never is.
func (h host) free(now time.Time) bool {
	if h.foreign || h.occupant != "" || h.state != types.AllocationStateAvailable {
		return false
	}
	claimed := h.allocated
	switch text := h.labels[tagClaimed]; text {
	case "":
	case claimOver:
		return true
	default:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return false // somebody wrote it by hand: a person has to see it
		}
		claimed = at
	}
	return !now.Before(claimed.Add(claimLife))
}
