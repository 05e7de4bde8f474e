package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// batchRequest is what the host asks for by one call.
type batchRequest = provider.BatchRequest[settings.Instance]

// mostMembers is how many machines one call makes. What is said of each goes into the
// tags of all, which leave room for a fleet's own.
const mostMembers = 20

// ProvisionBatch makes all machines of a batch by one RunInstances with the batch's key
// as its client token, or finds them. EC2 numbers the machines of a call, and keeps
// the number with each from its first moment: machine n is member n, whichever answer
// is lost and whichever list lags.
func (p *cloud) ProvisionBatch(ctx context.Context, asked batchRequest) ([]provider.Resource, error) {
	seen, err := p.ofBatch(ctx, asked.Key)
	if err != nil {
		return nil, err
	}
	found := members(asked, seen)
	for n := range found {
		found[n].Existed = true
	}
	if len(found) == len(asked.Members) {
		return found, nil
	}
	if len(seen) > 0 { // the call was made: a refusal of the next proves nothing
		p.recent.doubt(asked.Key)
		p.doubtMembers(asked)
	}
	alike := request{
		Key: asked.Key, Name: asked.Fleet, Fleet: asked.Fleet, Image: asked.Image, Platform: asked.Platform,
		Offers:    asked.Offers,
		Bootstrap: asked.Bootstrap, Instance: asked.Instance, InstanceDigest: asked.InstanceDigest,
	}
	input, err := p.launchBatch(ctx, asked, alike)
	if err != nil {
		return found, p.notMade(alike, classOf(err), err)
	}
	if err := p.limits.launch(ctx, len(asked.Members)); err != nil {
		return found, p.notMade(alike, provider.RateLimit, err)
	}
	answer, err := p.api.RunInstances(ctx, input)
	if err != nil {
		err = p.notLaunched(alike, err)
		if !provider.IsNotCreated(err) {
			p.doubtMembers(asked)
		}
		return found, err
	}
	made := members(asked, answer.Instances)
	if len(made) != len(asked.Members) {
		p.recent.doubt(asked.Key)
		p.doubtMembers(asked)
		return made,
			fmt.Errorf("launch the batch %s: the answer has %d of its %d machines", asked.Key, len(made), len(asked.Members))
	}
	for _, one := range made {
		p.recent.create(one.Key, one.ID)
		p.recent.create(asked.Key, one.ID)
	}
	return made, nil
}

// doubtMembers remembers that each member may come to be without being listed yet.
func (p *cloud) doubtMembers(asked batchRequest) {
	for _, one := range asked.Members {
		p.recent.doubt(one.Key)
	}
}

// launchBatch is the call: that for one machine, for as many as there are members or
// for none.
func (p *cloud) launchBatch(ctx context.Context, asked batchRequest, alike request) (*ec2.RunInstancesInput, error) {
	tags, err := p.batchTags(asked, alike)
	if err != nil {
		return nil, err
	}
	input, err := p.launch(ctx, alike)
	if err != nil {
		return nil, err
	}
	if asked.Instance.OnHost(string(input.InstanceType)) {
		return nil, fmt.Errorf(
			"machines of the type %s are on dedicated hosts, and launched one at a time; leave batch out of the fleet %s",
			input.InstanceType, asked.Fleet)
	}
	input.MinCount, input.MaxCount = sdk.Int32(int32(len(asked.Members))), sdk.Int32(int32(len(asked.Members)))
	for n := range input.TagSpecifications {
		input.TagSpecifications[n].Tags = written(tags)
	}
	return input, nil
}

// ofBatch lists the machines that a batch made, also those that are terminated and
// still shown. Copies have their tags, and aren't among them.
func (p *cloud) ofBatch(ctx context.Context, batch string) ([]types.Instance, error) {
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{Filters: p.oursOf(batch)})
	return slices.DeleteFunc(seen, copied), err
}

// oursOf narrows a list to a batch of the installation.
func (p *cloud) oursOf(batch string) []types.Filter {
	return append(p.ours(), types.Filter{Name: sdk.String("tag:" + tagBatch), Values: []string{batch}})
}

// ofMember finds the machine of a key that a batch made; nil: none is listed.
func (p *cloud) ofMember(ctx context.Context, key string) (*types.Instance, error) {
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{Filters: p.inBatches()})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(seen, func(one types.Instance) bool { return labelsOf(one).key() == key && !copied(one) })
	if at < 0 {
		return nil, nil
	}
	return &seen[at], nil
}

// inBatches narrows a list to what the installation's batches made.
func (p *cloud) inBatches() []types.Filter {
	return append(p.ours(), types.Filter{Name: sdk.String("tag-key"), Values: []string{tagBatch}})
}

// members are those of the machines that are members of the batch, each once, in the
// batch's order.
func members(asked batchRequest, seen []types.Instance) []provider.Resource {
	byKey := map[string]provider.Resource{}
	twice := map[string]bool{}
	for _, one := range seen {
		found := resourceOf(one)
		if other, there := byKey[found.Key]; there && other.ID != found.ID {
			twice[found.Key] = true
		}
		byKey[found.Key] = found
	}
	maps.DeleteFunc(byKey, func(key string, _ provider.Resource) bool { return twice[key] })
	var found []provider.Resource
	for _, member := range asked.Members {
		if one, there := byKey[member.Key]; there {
			found = append(found, one)
		}
	}
	return found
}

// owners says whose a thing is that a batch made. It has the tags of all members, as
// the machines have; but only machines are numbered.
type owners struct {
	machines map[string]labels // by id
	alive    map[string]bool   // the batches of which a machine is there
}

func ownersAmong(seen []types.Instance) owners {
	o := owners{machines: map[string]labels{}, alive: map[string]bool{}}
	for _, one := range seen {
		l := labelsOf(one)
		o.machines[sdk.ToString(one.InstanceId)] = l
		if l.batch() != "" && !copied(one) && stateOf(one) != types.InstanceStateNameTerminated {
			o.alive[l.batch()] = true
		}
	}
	return o
}

// of are the tags of a resource as those of its owner, the machine that has it. A
// resource without a machine has no owner while a machine of the batch exists, which
// may be its owner; afterwards it counts as the first member's, so that it is removed.
func (o owners) of(l labels, holder string) labels {
	switch machine, known := o.machines[holder]; {
	case l.batch() == "":
		return l
	case holder != "" && known && machine.batch() == l.batch():
		return machine
	case holder == "" && !o.alive[l.batch()]:
		return l.member(0)
	}
	return l.member(noMember)
}
