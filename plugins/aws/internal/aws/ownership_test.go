package aws

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// ec2From is a client over a transport.
func ec2From(t *testing.T, transport http.RoundTripper) *ec2.Client {
	t.Helper()
	loaded, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"),
		config.WithHTTPClient(&http.Client{Transport: transport}),
		config.WithRetryer(func() sdk.Retryer { return sdk.NopRetryer{} }))
	if err != nil {
		t.Fatal(err)
	}
	return ec2.NewFromConfig(loaded)
}

func asksForMore(body, operation string) bool {
	return strings.Contains(body, operation) && strings.Contains(body, "NextToken=")
}

// more launches one like a machine of ours, as the vendor's console does it: with
// all its tags, and without its client token.
func more(t *testing.T, p *cloud, like request, tags map[string]string) string {
	t.Helper()
	answer, err := p.api.RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1), ImageId: sdk.String(like.Image),
		InstanceType:      types.InstanceType(like.Instance.Types[0]),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: written(tags)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *answer.Instances[0].InstanceId
}

func TestACopyIsReportedAndSurvivesEveryTermination(t *testing.T) {
	aCopyIsReportedAndSurvives(t, newLab(t, ec2sim.Options{}).start(t), asked())
}

func aCopyIsReportedAndSurvives(t *testing.T, p *cloud, one request) {
	t.Helper()
	made, err := p.Provision(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	copied := more(t, p, one, p.tagsOf(&one))
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: copied, Key: one.Key}); state != provider.Refused ||
		err == nil {
		t.Fatalf("the copy isn't ours, and Terminate says %v, %v", state, err)
	}
	if _, err := p.Terminate(t.Context(), provider.Ref{Key: one.Key}); err != nil {
		t.Fatal(err)
	}
	instances, _ := list(t.Context(), t, p)
	if len(instances) != 1 || instances[0].ID != copied || !strings.Contains(instances[0].Detail, "copy") {
		t.Fatalf("wanted the copy %s alone, named as one, and not %s: %v", copied, made.ID, instances)
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: made.ID, Key: one.Key}); state != provider.Gone ||
		err != nil {
		t.Fatalf("the copy keeps its original from being gone: %v, %v", state, err)
	}
}

func TestAMachineOfAnotherInstallationIsNeitherListedNorTouched(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	anothersIsNeitherListedNorTouched(t, l.start(t), asked())
	if calls := l.Calls("TerminateInstances"); calls != 0 {
		t.Fatalf("%d calls of TerminateInstances", calls)
	}
}

func anothersIsNeitherListedNorTouched(t *testing.T, p *cloud, one request) {
	t.Helper()
	id := more(t, p, one, map[string]string{tagInstallation: "another", tagKey: one.Key})
	instances, _ := list(t.Context(), t, p)
	if slices.ContainsFunc(instances, func(r provider.Resource) bool { return r.ID == id }) {
		t.Fatalf("listed: %v", instances)
	}
	for _, ref := range []provider.Ref{{ID: id, Key: one.Key}, {ID: id}, {Key: one.Key}} {
		if state, _ := p.Terminate(t.Context(), ref); state == provider.TerminateAccepted {
			t.Errorf("Terminate of %+v touches what isn't ours", ref)
		}
	}
	seen, err := p.instances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil || len(seen) != 1 || stateOf(seen[0]) == types.InstanceStateNameTerminated {
		t.Errorf("it is %v, %v", seen, err)
	}
}

// An installation's name isn't a pattern.
func TestAnInstallationCalledStarSeesNobodyElses(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	more(t, p, asked(), map[string]string{tagInstallation: "another", tagKey: key})
	p.installation = "*"
	if instances, _ := list(t.Context(), t, p); len(instances) != 0 {
		t.Fatalf("listed: %v", instances)
	}
}

func TestWhatAMachineLeavesBehindIsListedAndRemoved(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	one := asked()
	input, err := p.launch(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	// As when somebody changes the machine so that its disk and interface outlive it.
	input.BlockDeviceMappings[0].Ebs.DeleteOnTermination = sdk.Bool(false)
	input.NetworkInterfaces[0].DeleteOnTermination = sdk.Bool(false)
	answer, err := p.api.RunInstances(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	id := *answer.Instances[0].InstanceId
	_, parts := list(t.Context(), t, p)
	if len(parts) != 2 || parts[0].BelongsTo != id || parts[1].BelongsTo != id || parts[0].Tags["forgeyard-proof"] == "" {
		t.Fatalf("wanted a volume and an interface with their proof, of %s: %v", id, parts)
	}
	for _, part := range parts {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: part.ID, Key: key}); state != provider.Refused ||
			err == nil {
			t.Fatalf("%s is held by its machine, and Terminate says %v, %v", part.ID, state, err)
		}
	}
	l.end(t, p, id)
}

func TestASpotRequestGoesWithItsMachine(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	one := asked()
	one.Offers = []provider.Offer{{Zone: "us-east-1a", MachineType: "c7i.large", Lifetime: "preemptible"}}
	made, err := p.Provision(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	_, parts := list(t.Context(), t, p)
	if len(parts) != 3 {
		t.Fatalf("wanted a volume, an interface and a spot request, got %v", parts)
	}
	l.end(t, p, made.ID)
}

// The service closes a request some time after its machine has ended, and counts it
// against the quota until then.
func TestASpotRequestThatOutlivesItsMachineIsCancelled(t *testing.T) {
	for _, byID := range []bool{false, true} {
		l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Closing: time.Hour}})
		p := l.start(t)
		one := asked()
		one.Offers = []provider.Offer{{Zone: "us-east-1a", MachineType: "c7i.large", Lifetime: "preemptible"}}
		made, err := p.Provision(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if byID {
			if _, err := p.api.TerminateInstances(t.Context(),
				&ec2.TerminateInstancesInput{InstanceIds: []string{made.ID}}); err != nil {
				t.Fatal(err)
			}
			_, parts := list(t.Context(), t, p)
			if len(parts) != 1 || !strings.HasPrefix(parts[0].ID, "sir-") {
				t.Fatalf("wanted the spot request, got %v", parts)
			}
			made.ID = parts[0].ID
		}
		l.end(t, p, made.ID)
		if calls := l.Calls("CancelSpotInstanceRequests"); calls != 1 {
			t.Errorf("it is cancelled %d times", calls)
		}
	}
}

func TestAShortageNamesItsOfferSoThatTheNextIsTried(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.SetCapacity(ec2sim.Market{InstanceType: "c7i.large", Zone: "us-east-1a"}, 0)
	one := asked()
	one.Offers = []provider.Offer{{Zone: "us-east-1a", MachineType: "c7i.large", Lifetime: "stable"}}
	_, err := p.Provision(t.Context(), one)
	if !provider.IsNotCreated(err) || classOf(err) != provider.Capacity ||
		!strings.Contains(err.Error(), "InsufficientInstanceCapacity") {
		t.Fatalf("wanted a proven shortage, got %v", err)
	}
}

// A key by itself, which anyone can write on a resource, doesn't make it ours.
func TestWhatSomebodyGaveAMachinesKeyOutlivesTheMachine(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	made, err := p.Provision(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := p.launch(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	theirs.ClientToken = sdk.String("somebody")
	theirs.BlockDeviceMappings[0].Ebs.DeleteOnTermination = sdk.Bool(false)
	for n := range theirs.TagSpecifications {
		theirs.TagSpecifications[n].Tags = written(map[string]string{tagInstallation: p.installation, tagKey: key})
	}
	answer, err := p.api.RunInstances(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.api.TerminateInstances(t.Context(),
		&ec2.TerminateInstancesInput{InstanceIds: []string{*answer.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	l.Advance(2 * time.Minute)
	for range 3 {
		if _, err := p.Terminate(t.Context(), provider.Ref{ID: made.ID, Key: key}); err != nil {
			t.Fatal(err)
		}
		l.Advance(2 * time.Minute)
	}
	l.Advance(2 * time.Hour) // the machine isn't shown any more
	for _, ref := range []provider.Ref{{ID: made.ID, Key: key}, {Key: key}} {
		if state, err := p.Terminate(t.Context(), ref); state != provider.Gone || err != nil {
			t.Fatalf("Terminate of %+v says %v, %v", ref, state, err)
		}
	}
	if seen, err := p.volumes(t.Context(), &ec2.DescribeVolumesInput{}); err != nil || len(seen) != 1 {
		t.Fatalf("somebody's volume went with the machine: %v, %v", seen, err)
	}
}

// The host has checked the proof of what it names; the plugin can't.
func TestWhatAMachineThatIsNotShownLeftBehindIsRemovedByItsOwnId(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	input, err := p.launch(t.Context(), asked())
	if err != nil {
		t.Fatal(err)
	}
	input.BlockDeviceMappings[0].Ebs.DeleteOnTermination = sdk.Bool(false)
	answer, err := p.api.RunInstances(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	id := *answer.Instances[0].InstanceId
	if _, err := p.api.TerminateInstances(t.Context(),
		&ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	l.Advance(2 * time.Hour)
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key}); state != provider.Gone || err != nil ||
		l.Calls("DeleteVolume") != 0 {
		t.Fatalf("it isn't shown, and Terminate says %v, %v with %d volumes deleted", state, err, l.Calls("DeleteVolume"))
	}
	_, parts := list(t.Context(), t, p)
	if len(parts) != 1 || parts[0].Key != key || parts[0].Tags["forgeyard-proof"] == "" {
		t.Fatalf("wanted its volume with its proof, got %v", parts)
	}
	l.end(t, p, parts[0].ID)
}
