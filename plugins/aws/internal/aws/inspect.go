package aws

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// mostValues is how many values a filter may have.
const mostValues = 200

// Inspect yields the machines of the installation in every state, those that were
// terminated within about an hour among them, and what belongs to them.
func (p *cloud) Inspect(ctx context.Context, query provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		var keys []string
		if len(query.IDs) == 0 && len(query.Keys) <= mostValues {
			keys = query.Keys
		}
		looks := [][]types.Filter{p.ours(keys...)}
		if len(keys) > 0 {
			looks = append(looks, p.inBatches()) // no filter knows their keys
		}
		told := map[string]bool{}
		for _, filters := range looks {
			found, err := p.lookAtAll(ctx, filters)
			if err != nil {
				yield(provider.Resource{}, err)
				return
			}
			for _, one := range found {
				if told[one.ID] {
					continue
				}
				told[one.ID] = true
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}

// lookAtAll lists the machines last, so that they say whose the rest is.
func (p *cloud) lookAtAll(ctx context.Context, filters []types.Filter) ([]provider.Resource, error) {
	parts, err := p.partsOf(ctx, filters)
	if err != nil {
		return nil, err
	}
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{Filters: filters})
	if err != nil {
		return nil, err
	}
	var all []provider.Resource
	owners := ownersAmong(seen)
	for _, one := range parts {
		all = append(all, one.resource(owners.of(one.labels, one.holder)))
	}
	for _, one := range seen {
		all = append(all, resourceOf(one))
	}
	return all, nil
}

// copied says whether a machine has our tags and wasn't made by us: who launches
// "more like this" copies tags, but not the client token.
func copied(one types.Instance) bool { return sdk.ToString(one.ClientToken) != labelsOf(one).token() }

func resourceOf(one types.Instance) provider.Resource {
	l := labelsOf(one)
	state, detail := conditionOf(one)
	if copied(one) {
		detail = strings.TrimPrefix(fmt.Sprintf("%s; it is a copy of the instance of %s", detail, l.key()), "; ")
	}
	r := provider.Resource{
		ID: sdk.ToString(one.InstanceId), Key: l.key(), Fleet: l[tagFleet], State: state, Detail: detail,
		Created: sdk.ToTime(one.LaunchTime), MachineType: string(one.InstanceType), InstanceDigest: l[tagDigest],
		Tags: l.host(), Image: sdk.ToString(one.ImageId), Attested: attested(one),
	}
	if one.Placement != nil {
		r.Zone = sdk.ToString(one.Placement.AvailabilityZone)
	}
	for _, address := range []*string{one.PrivateIpAddress, one.PublicIpAddress} {
		if text := sdk.ToString(address); text != "" {
			r.Addresses = append(r.Addresses, text)
		}
	}
	return r
}

// conditionOf is the state as the manager knows it, and a word for people.
func conditionOf(one types.Instance) (provider.State, string) {
	why := ""
	if one.StateReason != nil {
		why = sdk.ToString(one.StateReason.Message)
	}
	switch stateOf(one) {
	case types.InstanceStateNamePending:
		return provider.Pending, why
	case types.InstanceStateNameRunning:
		return provider.Running, why
	case types.InstanceStateNameShuttingDown, types.InstanceStateNameStopping:
		return provider.Stopping, why
	case types.InstanceStateNameStopped:
		return provider.Stopped, why
	case types.InstanceStateNameTerminated:
		return provider.Deleted, why
	}
	return provider.Unclear, fmt.Sprintf("its state is %q", stateOf(one))
}

func stateOf(one types.Instance) types.InstanceStateName {
	if one.State == nil {
		return ""
	}
	return one.State.Name
}

// attested is what the machine has by what EC2 says, and an agent could only claim.
func attested(one types.Instance) []string {
	nested := one.CpuOptions != nil &&
		one.CpuOptions.NestedVirtualization == types.NestedVirtualizationSpecificationEnabled
	if nested || settings.Metal(string(one.InstanceType)) && !settings.Mac(string(one.InstanceType)) {
		return []string{provider.AttestKVM}
	}
	return nil
}

// unattestable rules kvm out where none of a block's types can have it. A launch template
// may say more of the processor than the block does.
func unattestable(_ settings.Config, i settings.Instance) []provider.Unattestable {
	metal := slices.ContainsFunc(i.Types, func(t string) bool { return settings.Metal(t) && !settings.Mac(t) })
	if metal || i.Nested || i.Template != nil {
		return nil
	}
	return []provider.Unattestable{{
		Attestation: provider.AttestKVM, Path: provider.At("instance_types"),
		Reason: "none of " + strings.Join(i.Types, ", ") + " is a metal type, and nested virtualization isn't on",
	}}
}
