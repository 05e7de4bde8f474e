package aws

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// place puts a launch on a dedicated host: on the one that the key has already, so
// that the same key is the same launch; on a free one of ours; or on a new one. It
// comes last before the launch, so that nothing is allocated for a block that is
// wrong. Its error is that of Provision.
func (p *cloud) place(ctx context.Context, asked request, input *ec2.RunInstancesInput) (id string, err error) {
	subnet, machineType := *input.NetworkInterfaces[0].SubnetId, string(input.InstanceType)
	zones, err := p.zonesOf(ctx, []string{subnet})
	if err != nil {
		return "", p.notMade(asked, classOf(err), err)
	}
	seen, err := p.hosts(ctx, &ec2.DescribeHostsInput{Filter: p.ours()})
	if err != nil {
		return "", p.notMade(asked, classOf(err), err)
	}
	seen = slices.DeleteFunc(seen, func(h host) bool { return h.foreign })
	wanted := host{zone: zones[subnet], machineType: machineType}
	slices.SortFunc(seen, func(a, b host) int { return cmp.Or(a.allocated.Compare(b.allocated), cmp.Compare(a.id, b.id)) })
	if at := slices.IndexFunc(seen, func(h host) bool {
		return h.fits(wanted) && h.labels.key() == asked.Key
	}); at >= 0 && p.claims.take(seen[at].id, asked.Key) {
		if seen[at].free(p.now()) {
			return p.keep(ctx, asked, seen[at].id) // its claim has run out, or was given back
		}
		return seen[at].id, nil
	}
	if id, err = p.claim(ctx, asked, wanted, seen, true); err != nil || id != "" {
		return id, err
	}
	if !p.claims.begin(asked, seen) {
		return "", p.notMade(asked, provider.Capacity,
			&provider.Error{Zone: wanted.zone, MachineType: machineType, Err: noHost(asked, wanted, seen, p.now())})
	}
	if id, err = p.claim(ctx, asked, wanted, seen, false); err != nil || id != "" {
		return id, err
	}
	return p.allocate(ctx, asked, wanted)
}

func (h host) fits(wanted host) bool {
	return h.zone == wanted.zone && h.machineType == wanted.machineType
}

// claim takes a free host for a key, of the fleet's own or of the others'; empty: there
// is none. A retagging that gets no answer has made nothing: at worst it comes late,
// and a host has the tags of one that doesn't use it until the next takes it.
func (p *cloud) claim(ctx context.Context, asked request, wanted host, seen []host, own bool) (id string, err error) {
	now := p.now()
	for _, one := range seen {
		if !one.fits(wanted) || (one.labels[tagFleet] == asked.Fleet) != own || !one.free(now) ||
			!p.claims.take(one.id, asked.Key) {
			continue
		}
		return p.keep(ctx, asked, one.id)
	}
	return "", nil
}

// keep writes whose a host is that was taken for the key.
func (p *cloud) keep(ctx context.Context, asked request, id string) (string, error) {
	tags := p.tagsOf(&asked)
	tags[tagClaimed] = p.now().UTC().Format(time.RFC3339)
	if err := p.tag(ctx, id, tags); err != nil {
		p.claims.drop(id, asked.Key)
		p.askedForNone(asked.Key)
		return "", p.notMade(asked, classOf(err), err)
	}
	return id, nil
}

// allocate makes a host for the key, which is its client token too: however often it
// is asked for, there is one.
func (p *cloud) allocate(ctx context.Context, asked request, wanted host) (id string, err error) {
	if err := p.limits.mutating.Take(ctx); err != nil {
		p.askedForNone(asked.Key)
		return "", p.notMade(asked, provider.RateLimit, err)
	}
	tags := p.tagsOf(&asked)
	tags[tagAllocated] = asked.Key
	answer, err := p.api.AllocateHosts(ctx, &ec2.AllocateHostsInput{
		ClientToken: sdk.String(hostToken(asked.Key)), Quantity: sdk.Int32(1), AutoPlacement: types.AutoPlacementOff,
		AvailabilityZone: sdk.String(wanted.zone), InstanceType: sdk.String(wanted.machineType),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeDedicatedHost, Tags: written(tags)}},
	})
	if err != nil {
		what := classified(err, "allocate a dedicated host for the key %s", asked.Key)
		what.Zone, what.MachineType = wanted.zone, wanted.machineType
		if what.Class == provider.RateLimit {
			p.limits.mutating.Empty()
		}
		if !provesNothingMade(err) {
			p.recent.doubt(asked.Key)
			return "", what
		}
		p.askedForNone(asked.Key)
		return "", p.notMade(asked, what.Class, what)
	}
	if len(answer.HostIds) != 1 {
		p.recent.doubt(asked.Key)
		return "", fmt.Errorf("allocate a dedicated host for the key %s: the answer names %d hosts, and one was asked for",
			asked.Key, len(answer.HostIds))
	}
	p.claims.take(answer.HostIds[0], asked.Key)
	p.claims.made(asked.Key, answer.HostIds[0])
	return answer.HostIds[0], nil
}

// askedForNone ends what a key has asked for, unless an earlier request of it may still
// make a host.
func (p *cloud) askedForNone(key string) {
	if !p.recent.doubtful(key) {
		p.claims.end(key)
	}
}

// hostToken is the client token of the host that is allocated for a key. It isn't the
// key itself, which is the token of the launch.
func hostToken(key string) string {
	sum := sha256.Sum256([]byte("dedicated host of " + key))
	return hex.EncodeToString(sum[:16])
}

// giveBack lets other keys have the host of a launch that was refused for certain. If
// it fails the host is free when the claim has run out. It counts among the fleet's
// hosts all the while: lists may not show it yet.
func (p *cloud) giveBack(ctx context.Context, id, key string) {
	p.claims.drop(id, key)
	if err := p.tag(ctx, id, map[string]string{tagClaimed: claimOver}); err != nil {
		p.logger.Warn("a dedicated host whose launch was refused couldn't be given back", "host", id, "free_after",
			claimLife, "error", err)
	}
}

func (p *cloud) tag(ctx context.Context, id string, tags map[string]string) error {
	if err := p.limits.mutating.Take(ctx); err != nil {
		return err
	}
	_, err := p.api.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: written(tags)})
	if err == nil {
		return nil
	}
	what := classified(err, "tag %s", id)
	if what.Class == provider.RateLimit {
		p.limits.mutating.Empty()
	}
	return what
}

// noHost says why a machine has no host, and what the fleet's hosts are doing.
func noHost(asked request, wanted host, seen []host, now time.Time) error {
	var doing []string
	for _, one := range seen {
		if one.labels[tagFleet] != asked.Fleet {
			continue
		}
		what := one.kept(now)
		if one.free(now) || what == "" {
			what = fmt.Sprintf("it is of %s in %s", one.machineType, one.zone)
		}
		doing = append(doing, one.id+": "+what)
	}
	return fmt.Errorf(
		"no dedicated host of %s in %s is free, and %s has the %d that max_hosts allows (%s); wait for one, or "+
			"raise max_hosts",
		wanted.machineType, wanted.zone, asked.Fleet, asked.Instance.MaxHosts, strings.Join(doing, "; "))
}
