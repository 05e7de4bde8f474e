package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

const (
	macImage  = "ami-0a000000000000003"
	secondKey = "01jx0000000000000000000002"
	thirdKey  = "01jx0000000000000000000003"
)

// scrubbing is as long as the vendor's longest word for it.
var scrubbing = ec2sim.Delays{Terminating: time.Minute, Scrubbing: 270 * time.Minute}

// askedMac asks for a Mac of a fleet that may have so many hosts.
func askedMac(key string, most int) request {
	one := asked()
	one.Key, one.Image = key, macImage
	one.Tags = map[string]string{"forgeyard-key": key, "forgeyard-proof": "v1-k1-" + key}
	one.Instance.Types, one.Instance.MaxHosts = []string{"mac2.metal"}, most
	return one
}

// launched makes a machine.
func launched(t *testing.T, p *cloud, one request) provider.Resource {
	t.Helper()
	made, err := p.Provision(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// held are the hosts of the account that aren't released.
func held(t *testing.T, p *cloud) []host {
	t.Helper()
	seen, err := p.hosts(t.Context(), &ec2.DescribeHostsInput{})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// oneHost is the account's only host.
func oneHost(t *testing.T, p *cloud) host {
	t.Helper()
	seen := held(t, p)
	if len(seen) != 1 {
		t.Fatalf("wanted one host, got %+v", seen)
	}
	return seen[0]
}

// shownHost is how Inspect shows the one host.
func shownHost(t *testing.T, p *cloud) provider.Resource {
	t.Helper()
	_, parts := list(t.Context(), t, p)
	var found []provider.Resource
	for _, one := range parts {
		if strings.HasPrefix(one.ID, "h-") {
			found = append(found, one)
		}
	}
	if len(found) != 1 {
		t.Fatalf("wanted one host in the list, got %+v", found)
	}
	return found[0]
}

// gone terminates a machine until nothing of its key is in the way of its end.
func (l *lab) gone(t *testing.T, p *cloud, id, key string) {
	t.Helper()
	for range 5 {
		state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if state == provider.Gone {
			return
		}
		l.Advance(time.Minute)
	}
	t.Fatalf("%s is never gone", id)
}

// released ends the one host, which may be released, and wants nothing left.
func (l *lab) released(t *testing.T, p *cloud, key string) {
	t.Helper()
	shown := shownHost(t, p)
	if shown.Kind != kindHost || shown.Key != key || shown.BelongsTo != "" ||
		shown.Tags["forgeyard-proof"] != "v1-k1-"+key {
		t.Fatalf("a host that may be released is listed as what %s left behind, with its proof: %+v", key, shown)
	}
	for _, want := range []provider.TerminateState{provider.TerminateAccepted, provider.Gone} {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: shown.ID, Key: key}); state != want || err != nil {
			t.Fatalf("wanted %v, got %v, %v", want, state, err)
		}
	}
	if instances, parts := list(t.Context(), t, p); len(instances)+len(parts) > 0 || len(held(t, p)) > 0 {
		t.Fatalf("left behind: %v %v", instances, parts)
	}
}

func TestAMacHasAHostWhichOutlivesItAndHoldsUpNothing(t *testing.T) {
	l := newLab(t, ec2sim.Options{LargestPage: 1, Delays: scrubbing})
	p := l.start(t)
	made := launched(t, p, askedMac(key, 1))
	shown := shownHost(t, p)
	day := shown.Created.Add(24 * time.Hour)
	if shown.Kind != kindHost || shown.Key != key || shown.BelongsTo != made.ID || !shown.BilledUntil.Equal(day) ||
		shown.Tags["forgeyard-proof"] == "" {
		t.Fatalf("wanted a host of %s, paid until %s: %+v", made.ID, day, shown)
	}
	if made.Attested != nil {
		t.Fatalf("a Mac is vouched for as having %v", made.Attested)
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: shown.ID, Key: key}); state != provider.Refused ||
		err == nil {
		t.Fatalf("a machine is on the host, and Terminate says %v, %v", state, err)
	}
	l.gone(t, p, made.ID, key)
	shown = shownHost(t, p)
	if shown.Kind != kindAsset || shown.Key != "" || !shown.BilledUntil.Equal(day) ||
		!strings.Contains(shown.Detail, day.UTC().Format(time.RFC3339)) {
		t.Fatalf("wanted an asset that says from when it can be released: %+v", shown)
	}
	if l.Calls("ReleaseHosts") != 0 {
		t.Fatal("a host was released before its day was over")
	}
}

func TestAHostIsReleasedOnlyWhenItsDayIsOverAndItIsPrepared(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: scrubbing})
	p := l.start(t)
	made := launched(t, p, askedMac(key, 1))
	id := oneHost(t, p).id
	refused := func(when, says string) {
		t.Helper()
		state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key})
		if state != provider.Refused || err == nil || !strings.Contains(err.Error(), says) ||
			shownHost(t, p).Kind != kindAsset {
			t.Fatalf("%s: wanted a refusal that says %q, got %v, %v", when, says, state, err)
		}
	}
	l.Advance(21 * time.Hour)
	l.gone(t, p, made.ID, key)
	refused("its day isn't over and it is being prepared", "being prepared")
	l.Advance(3 * time.Hour)
	refused("its day is over and it is being prepared", "being prepared")
	if l.Calls("ReleaseHosts") != 0 {
		t.Fatal("the host was to be released too early")
	}
	l.Advance(90 * time.Minute)
	l.released(t, p, key)
}

func TestAHostThatWasNeverUsedIsKeptForItsDay(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Code: "VcpuLimitExceeded"})
	if _, err := p.Provision(t.Context(), askedMac(key, 1)); !provider.IsNotCreated(err) ||
		classOf(err) != provider.Quota {
		t.Fatalf("wanted a proven refusal, got %v", err)
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{Key: key}); state != provider.Gone || err != nil {
		t.Fatalf("no machine was made, and Terminate of its key says %v, %v", state, err)
	}
	l.Advance(24*time.Hour - time.Minute)
	if shown := shownHost(t, p); shown.Kind != kindAsset {
		t.Fatalf("a minute before its day is over: %+v", shown)
	}
	l.Advance(time.Minute)
	l.released(t, p, key)
}

func TestAHostOfSomebodyElseIsNeitherUsedNorListedNorReleased(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	allocate := func(tags map[string]string) string {
		answer, err := p.api.AllocateHosts(t.Context(), &ec2.AllocateHostsInput{
			Quantity: sdk.Int32(1), AvailabilityZone: sdk.String("us-east-1a"), InstanceType: sdk.String("mac2.metal"),
			AutoPlacement:     types.AutoPlacementOn,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeDedicatedHost, Tags: written(tags)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.HostIds[0]
	}
	ids := []string{allocate(map[string]string{"team": "ios"}),
		allocate(map[string]string{tagInstallation: "another", tagKey: key, tagFleet: "fleet.linux"})}
	l.Advance(25 * time.Hour)
	made := launched(t, p, askedMac(key, 1))
	if shown := shownHost(t, p); slices.Contains(ids, shown.ID) || shown.BelongsTo != made.ID {
		t.Fatalf("wanted a host of our own: %+v", shown)
	}
	for _, id := range ids {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key}); state != provider.Refused || err == nil {
			t.Errorf("%s isn't ours, and Terminate says %v, %v", id, state, err)
		}
	}
	if len(held(t, p)) != 3 || l.Calls("ReleaseHosts") != 0 {
		t.Fatalf("a host of somebody else was touched: %+v", held(t, p))
	}
}

// A host that isn't for Macs costs by the second, and has no use without its machine.
func TestADedicatedHostOfAnotherTypeGoesWithItsMachine(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Terminating: time.Minute}})
	p := l.start(t)
	one := asked()
	one.Instance.Tenancy, one.Instance.MaxHosts = "host", 1
	made := launched(t, p, one)
	if h := oneHost(t, p); h.occupant != made.ID || !h.paidUntil().IsZero() {
		t.Fatalf("wanted %s on a host without a minimum: %+v", made.ID, h)
	}
	l.end(t, p, made.ID)
	if seen := held(t, p); len(seen) != 0 {
		t.Fatalf("the host outlives its machine: %+v", seen)
	}
}

// A release whose answer is lost has happened or not; asked again, the host is gone.
func TestALostAnswerOfAReleaseLeavesNothing(t *testing.T) {
	for _, after := range []bool{false, true} {
		l := newLab(t, ec2sim.Options{Delays: scrubbing})
		p := l.start(t)
		l.gone(t, p, launched(t, p, askedMac(key, 1)).ID, key)
		l.Advance(25 * time.Hour)
		id := oneHost(t, p).id
		l.Inject(ec2sim.Fault{Operation: "ReleaseHosts", After: after})
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key}); state != provider.TerminateUnknown ||
			err == nil {
			t.Fatalf("the answer was lost, and Terminate says %v, %v", state, err)
		}
		for range 2 {
			if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key}); err != nil ||
				state == provider.TerminateUnknown {
				t.Fatalf("got %v, %v", state, err)
			}
		}
		if seen := held(t, p); len(seen) != 0 {
			t.Fatalf("left: %+v", seen)
		}
	}
}

// The vendor's clock is the one that counts.
func TestAReleaseThatTheVendorRefusesIsRefused(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.gone(t, p, launched(t, p, askedMac(key, 1)).ID, key)
	id := oneHost(t, p).id
	p.now = func() time.Time { return l.Now().Add(25 * time.Hour) }
	state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key})
	if state != provider.Refused || err == nil || !strings.Contains(err.Error(), "minimum host allocation period") ||
		len(held(t, p)) != 1 {
		t.Fatalf("wanted what the vendor says, got %v, %v", state, err)
	}
}

func TestAMacIsOfferedForADayAndNoHostOnTheSpotMarket(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	var got []string
	for _, instance := range []settings.Instance{
		{Types: []string{"mac2.metal"}, Subnets: []string{subnet}, Groups: []string{group}, Tenancy: "default", MaxHosts: 1},
		{Types: []string{"c7i.large"}, Subnets: []string{subnet}, Groups: []string{group}, Tenancy: "host", MaxHosts: 1},
	} {
		list, err := p.Offers(t.Context(), instance)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Offers {
			got = append(got, fmt.Sprintf("%s %s %s", o.MachineType, o.Lifetime, o.MinimumCommitment))
		}
	}
	if want := []string{"mac2.metal stable 24h0m0s", "c7i.large stable 1m0s"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, wanted %q", got, want)
	}
}

// Tags can be copied, and a host's client token can't.
func TestForeignHostWithOurTagsIsShownOnly(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	launched(t, p, askedMac(key, 2))
	tags := map[string]string(oneHost(t, p).labels)
	answer, err := p.api.AllocateHosts(t.Context(), &ec2.AllocateHostsInput{
		ClientToken: sdk.String("somebody"), Quantity: sdk.Int32(1), AvailabilityZone: sdk.String("us-east-1a"),
		InstanceType: sdk.String("mac2.metal"), AutoPlacement: types.AutoPlacementOff,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeDedicatedHost, Tags: written(tags)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	theirs := answer.HostIds[0]
	l.Advance(25 * time.Hour)
	_, parts := list(t.Context(), t, p)
	at := slices.IndexFunc(parts, func(one provider.Resource) bool { return one.ID == theirs })
	if at < 0 || parts[at].Kind != kindAsset || parts[at].Key != "" ||
		!strings.Contains(parts[at].Detail, "somebody else") {
		t.Fatalf("wanted their host without an instance: %+v", parts)
	}
	made := launched(t, p, askedMac(secondKey, 2))
	for _, one := range held(t, p) {
		if one.id == theirs && (one.occupant != "" || one.labels.key() != key) || one.occupant == made.ID && one.foreign {
			t.Errorf("the second machine is on their host: %+v", one)
		}
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: theirs, Key: key}); state != provider.Refused ||
		err == nil {
		t.Errorf("Terminate of their host says %v, %v", state, err)
	}
	if calls := l.Calls("ReleaseHosts"); calls != 0 {
		t.Errorf("%d hosts were released", calls)
	}
}
