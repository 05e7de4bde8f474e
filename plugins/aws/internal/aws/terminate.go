package aws

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// notFound is how the codes end with which the API says that the resource doesn't exist.
const notFound = ".NotFound"

// Terminate ends one machine and then removes its dangling resources, while the API
// still shows it; or it removes one resource that has no machine any more. Once the
// machine isn't shown, the plugin can't tell which resources are its own: a key is a
// tag that anyone can write, and the proof beside it is for the manager to check, which
// then names each resource by its id.
func (p *cloud) Terminate(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	switch {
	case ref.ID == "":
		return p.terminateByKey(ctx, ref.Key)
	case strings.HasPrefix(ref.ID, settings.InstanceID):
		return p.terminateByID(ctx, ref)
	case kindOf(ref.ID) != "":
		return p.terminatePart(ctx, ref)
	}
	return refused("%s is not an instance, volume, network interface, spot request or dedicated host", ref.ID)
}

func (p *cloud) terminateByKey(ctx context.Context, key string) (provider.TerminateState, error) {
	one, err := p.ofKey(ctx, key)
	if err == nil && one == nil {
		one, err = p.ofMember(ctx, key)
	}
	switch {
	case err != nil:
		return provider.TerminateUnknown, err
	case one == nil && p.recent.invisible(key):
		return invisible(key)
	case one == nil:
		return provider.Gone, nil
	}
	return p.terminateInstance(ctx, *one)
}

func (p *cloud) terminateByID(ctx context.Context, ref provider.Ref) (provider.TerminateState, error) {
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{ref.ID}})
	gone := err == nil && len(seen) == 0 || strings.HasSuffix(codeOf(err), notFound)
	switch {
	case gone && p.recent.invisible(ref.ID):
		return invisible(ref.ID)
	case gone:
		return provider.Gone, nil
	case err != nil:
		return provider.TerminateUnknown, err
	}
	one := seen[0]
	l := labelsOf(one)
	switch {
	case l.installation() != p.installation:
		return refused("%s isn't an instance of the installation %q", ref.ID, p.installation)
	case ref.Key != "" && l.key() != ref.Key:
		return refused("%s is the instance of the key %q, not of %q", ref.ID, l.key(), ref.Key)
	case copied(one):
		return refused(
			"%s is a copy of the instance of %s, launched by somebody else with its tags: a person has to remove it", ref.ID,
			l.key())
	}
	return p.terminateInstance(ctx, one)
}

// terminateInstance ends a machine that is ours.
func (p *cloud) terminateInstance(ctx context.Context, one types.Instance) (provider.TerminateState, error) {
	id, l := sdk.ToString(one.InstanceId), labelsOf(one)
	switch stateOf(one) {
	case types.InstanceStateNameTerminated:
		return p.removeDangling(ctx, l, id)
	case types.InstanceStateNameShuttingDown:
		return provider.TerminateAccepted, nil
	}
	if err := p.limits.mutating.Take(ctx); err != nil {
		return provider.TerminateUnknown, err
	}
	answer, err := p.api.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return p.notRemoved(err, id)
	}
	for _, change := range answer.TerminatingInstances {
		if change.CurrentState != nil && change.CurrentState.Name == types.InstanceStateNameTerminated {
			return p.removeDangling(ctx, l, id)
		}
	}
	return provider.TerminateAccepted, nil
}

// notRemoved is what a failed removal proves: nothing, unless the API refused for a
// reason that doesn't pass with time.
func (p *cloud) notRemoved(err error, id string) (provider.TerminateState, error) {
	what := classified(err, "remove %s", id)
	switch {
	case what.Class == provider.RateLimit:
		p.limits.mutating.Empty()
	case codeOf(err) == "OperationNotPermitted":
		what.Err = fmt.Errorf("%w; somebody protected it from termination: take the protection off", what.Err)
		return provider.Refused, what
	case what.Class == provider.Permission, strings.HasPrefix(codeOf(err), "InvalidHost."),
		codeOf(err) == "HostMinAllocationPeriodUnexpired":
		return provider.Refused, what
	}
	return provider.TerminateUnknown, what
}

func invisible(name string) (provider.TerminateState, error) {
	return provider.TerminateUnknown, &provider.Error{Class: provider.Transient, RetryAfter: listSettle,
		Err: fmt.Errorf("remove %s: the API doesn't show it, and it may be too young to be shown", name)}
}

func refused(format string, arguments ...any) (provider.TerminateState, error) {
	return provider.Refused, &provider.Error{Class: provider.Conflict, Err: fmt.Errorf(format, arguments...)}
}
