package aws

import (
	"context"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// removeDangling removes what a machine that has ended, and is still shown, left
// behind: what has its tags, the host's proof among them. What somebody gave its key by
// hand isn't its. What one of a batch let go isn't told from what the others did: it is
// the host's to remove, once the batch is over. It is Gone where there is nothing, and
// Accepted until a look shows that. A host that can't be released yet holds nothing up:
// it is there for the next machine, and comes back as something to remove.
func (p *cloud) removeDangling(ctx context.Context, l labels, instance string) (provider.TerminateState, error) {
	if l.batch() != "" {
		return p.removeThose(ctx, p.oursOf(l.batch()), instance, func(one part) bool { return one.holder == instance })
	}
	return p.removeThose(ctx, p.ours(l.key()), instance, func(one part) bool { return one.labels.have(l.host()) })
}

// removeThose removes what the filters let through and is the machine's. What another
// machine holds, as a copy does, is that one's.
func (p *cloud) removeThose(ctx context.Context, filters []types.Filter, instance string, its func(part) bool) (
	provider.TerminateState, error) {
	all, err := p.partsOf(ctx, filters)
	if err != nil {
		return provider.TerminateUnknown, err
	}
	end := provider.Gone
	for _, one := range all {
		switch {
		case !its(one):
		case one.holder == "" && one.kept != "":
			p.logger.Info("a dedicated host is kept", "host", one.id, "why", one.kept)
		case one.kind == kindSpot && (one.holder == "" || one.holder == instance), one.holder == "":
			if err := p.remove(ctx, one); err != nil {
				return p.notRemoved(err, one.id)
			}
			end = provider.TerminateAccepted
		case one.holder == instance:
			end = provider.TerminateAccepted // it goes with its machine
		}
	}
	return end, nil
}

// terminatePart removes one thing by its id. While a machine holds it, it stays.
func (p *cloud) terminatePart(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	one, err := p.partByID(ctx, ref.ID)
	switch {
	case strings.HasSuffix(codeOf(err), notFound):
		return provider.Gone, nil
	case err != nil:
		return provider.TerminateUnknown, err
	case one == nil:
		return provider.Gone, nil
	case one.labels.installation() != p.installation:
		return refused("%s doesn't belong to the installation %q", ref.ID, p.installation)
	case one.labels.batch() != "":
		if state, err := p.mayRemove(ctx, *one, ref.Key); err != nil {
			return state, err
		}
	case ref.Key != "" && one.labels.key() != ref.Key:
		return refused("%s belongs to the key %q, not to %q", ref.ID, one.labels.key(), ref.Key)
	}
	switch {
	case one.holder != "":
		return p.terminateHeld(ctx, *one)
	case one.kept != "":
		return refused("%s can't be released now: %s", ref.ID, one.kept)
	}
	if err := p.remove(ctx, *one); err != nil {
		return p.notRemoved(err, ref.ID)
	}
	return provider.TerminateAccepted, nil
}

// mayRemove says why a thing of a batch isn't the key's to remove; no error: it is.
func (p *cloud) mayRemove(ctx context.Context, one part, key string) (provider.TerminateState, error) {
	batch := one.labels.batch()
	if key != "" && !one.labels.has(key) {
		return refused("%s belongs to the batch %s, which %q isn't in", one.id, batch, key)
	}
	if one.holder != "" {
		return 0, nil
	}
	seen, err := p.ofBatch(ctx, batch)
	switch {
	case err != nil:
		return provider.TerminateUnknown, err
	case ownersAmong(seen).alive[batch]:
		return refused("%s belongs to the batch %s, and it can't be told to which of its machines until all are gone",
			one.id, batch)
	}
	return 0, nil
}

// terminateHeld is for a resource that names a machine. A spot request still names it
// when the machine is gone.
func (p *cloud) terminateHeld(ctx context.Context, one part) (provider.TerminateState, error) {
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{one.holder}})
	gone := err == nil && len(seen) == 0 || strings.HasSuffix(codeOf(err), notFound)
	switch {
	case err != nil && !gone:
		return provider.TerminateUnknown, err
	case !gone && stateOf(seen[0]) != "terminated":
		return refused("%s is held by %s: end that first", one.id, one.holder)
	case one.kind != kindSpot:
		return provider.TerminateAccepted, nil // the API is letting it go
	}
	if err := p.remove(ctx, one); err != nil {
		return p.notRemoved(err, one.id)
	}
	return provider.TerminateAccepted, nil
}

// remove removes one resource that nothing holds. One that is gone isn't a failure.
func (p *cloud) remove(ctx context.Context, one part) error {
	if err := p.limits.mutating.Take(ctx); err != nil {
		return err
	}
	var err error
	switch one.kind {
	case kindVolume:
		_, err = p.api.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: sdk.String(one.id)})
	case kindInterface:
		_, err = p.api.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: sdk.String(one.id)})
	case kindSpot:
		_, err = p.api.CancelSpotInstanceRequests(ctx,
			&ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{one.id}})
	case kindHost:
		err = p.release(ctx, one.id)
	}
	if strings.HasSuffix(codeOf(err), notFound) {
		return nil
	}
	return err
}

// release releases one host. The API answers for each host by itself, and its
// refusals aren't failures of the call.
func (p *cloud) release(ctx context.Context, id string) error {
	answer, err := p.api.ReleaseHosts(ctx, &ec2.ReleaseHostsInput{HostIds: []string{id}})
	if err != nil || len(answer.Unsuccessful) == 0 {
		return err
	}
	refusal := smithy.GenericAPIError{Code: "Unknown", Message: "the API says nothing of why"}
	if said := answer.Unsuccessful[0].Error; said != nil {
		refusal.Code, refusal.Message = strings.TrimPrefix(sdk.ToString(said.Code), "Client."), sdk.ToString(said.Message)
	}
	if refusal.Code == "InvalidHost.Released" {
		return nil
	}
	return &refusal
}
