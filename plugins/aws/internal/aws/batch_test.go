package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

const batchKey = "01jx00000000000000000000b1"

// askedBatch is a batch as a manager asks for it.
func askedBatch(n int) batchRequest {
	one := asked()
	b := batchRequest{
		Key: batchKey, Fleet: one.Fleet, Image: one.Image, Platform: one.Platform, Instance: one.Instance,
		InstanceDigest: one.InstanceDigest, Bootstrap: one.Bootstrap,
	}
	for i := range n {
		k := fmt.Sprintf("01jx00000000000000000000k%d", i)
		if i > 9 {
			k = fmt.Sprintf("01jx0000000000000000000k%d", i)
		}
		b.Members = append(b.Members, provider.Member{Key: k, Name: fmt.Sprintf("linux-%d", i), Tags: map[string]string{
			"forgeyard-installation": "test", "forgeyard-fleet": "01jx0000000000000000000fff",
			"forgeyard-image": strings.Repeat("a", 12), "forgeyard-tenant": "acme",
			"forgeyard-key": k, "forgeyard-capacity-instance": "01jx0000000000000000000c" + k[24:],
			"forgeyard-proof": "v1-abcdef012345-" + k,
		}})
	}
	return b
}

// wholeBatch checks that the account has each member once, as if it had been made
// alone, and gives the ids by key.
func (l *lab) wholeBatch(t *testing.T, p *cloud, b batchRequest) map[string]string {
	t.Helper()
	instances, parts := list(t.Context(), t, p)
	ids := map[string]string{}
	for _, one := range instances {
		if ids[one.Key] != "" {
			t.Errorf("%s and %s are both of %s", ids[one.Key], one.ID, one.Key)
		}
		ids[one.Key] = one.ID
		at := slices.IndexFunc(b.Members, func(m provider.Member) bool { return m.Key == one.Key })
		if at < 0 || !hasAll(one.Tags, b.Members[at].Tags) || one.Fleet != b.Fleet || one.InstanceDigest != b.InstanceDigest {
			t.Errorf("%s is listed as %+v", one.ID, one)
		}
	}
	if len(instances) != len(b.Members) || len(ids) != len(b.Members) {
		t.Fatalf("%d machines of %d keys for %d members", len(instances), len(ids), len(b.Members))
	}
	for _, one := range parts {
		if one.BelongsTo == "" || ids[one.Key] != one.BelongsTo || one.Tags["forgeyard-key"] != one.Key {
			t.Errorf("the %s %s is of %s and says %q, %v", one.Kind, one.ID, one.BelongsTo, one.Key, one.Tags)
		}
	}
	return ids
}

func hasAll(tags, wanted map[string]string) bool {
	for name, value := range wanted {
		if tags[name] != value {
			return false
		}
	}
	return len(tags) == len(wanted)+1 // and the Name
}

// endBatch terminates each member until all are gone, and wants nothing left.
func (l *lab) endBatch(t *testing.T, p *cloud, ids map[string]string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(ids)) {
		gone := false
		for range 10 {
			state, err := p.Terminate(t.Context(), provider.Ref{ID: ids[k], Key: k})
			if err != nil {
				t.Fatal(err)
			}
			if gone = state == provider.Gone; gone {
				break
			}
			l.Advance(time.Minute)
		}
		if !gone {
			t.Fatalf("%s of %s is never gone", ids[k], k)
		}
	}
	if instances, parts := list(t.Context(), t, p); len(instances)+len(parts) > 0 {
		t.Fatalf("left behind: %v %v", instances, parts)
	}
}

// Whatever becomes of the first request or its answer, and whether or not the plugin
// is the same that sent it, the same batch again is exactly its machines.
func TestALostAnswerMakesEachMemberOfABatchOnce(t *testing.T) {
	const launching = "RunInstances"
	for _, c := range []struct {
		name   string
		fault  ec2sim.Fault
		delays ec2sim.Delays
		proven bool
	}{
		{name: "the request is cut off before it has an effect"},
		{name: "the service fails before the effect", fault: ec2sim.Fault{Status: 500, Code: "InternalError"}},
		{name: "the request is refused for want of capacity",
			fault: ec2sim.Fault{Status: 500, Code: "InsufficientInstanceCapacity"}, proven: true},
		{name: "the request is throttled", fault: ec2sim.Fault{Status: 503, Code: "RequestLimitExceeded"}, proven: true},
		{name: "the answer is cut off after the effect", fault: ec2sim.Fault{After: true}},
		{name: "the service fails after the effect", fault: ec2sim.Fault{After: true, Status: 500, Code: "InternalError"}},
		{name: "the answer is lost and the list lags", fault: ec2sim.Fault{After: true},
			delays: ec2sim.Delays{Visible: 20 * time.Second, Flapping: 20 * time.Second}},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, manager killed %t", c.name, killed), func(t *testing.T) {
				l := newLab(t, ec2sim.Options{Delays: c.delays, LargestPage: 5})
				p := l.start(t)
				fault := c.fault
				fault.Operation = launching
				l.Inject(fault)
				b := askedBatch(7)
				made, err := p.ProvisionBatch(t.Context(), b)
				if err == nil || len(made) > 0 {
					t.Fatalf("the answer was lost, and it says %v, %v", made, err)
				}
				if claims := provider.IsNotCreated(err); claims != c.proven {
					t.Fatalf("claims that nothing was made: %v, proven: %v (%v)", claims, c.proven, err)
				}
				if killed {
					p = l.start(t) // which remembers nothing
				}
				if made, err = p.ProvisionBatch(t.Context(), b); err != nil || len(made) != 7 {
					t.Fatalf("%d machines, %v", len(made), err)
				}
				l.Advance(time.Minute)
				ids := l.wholeBatch(t, p, b)
				for n, one := range made {
					if one.Key != b.Members[n].Key || ids[one.Key] != one.ID {
						t.Errorf("answered %s for %s, and %s is listed", one.ID, one.Key, ids[one.Key])
					}
				}
				again, err := p.ProvisionBatch(t.Context(), b)
				if err != nil || len(again) != 7 || !again[6].Existed || again[6].ID != ids[again[6].Key] {
					t.Errorf("once more: %v, %v", again, err)
				}
				l.wholeBatch(t, p, b)
				l.endBatch(t, p, ids)
			})
		}
	}
}

func TestABatchWhoseAnswerComesTooLateIsMadeOnce(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	synctest.Test(t, func(t *testing.T) {
		p := l.start(t)
		l.Inject(ec2sim.Fault{Operation: "RunInstances", Late: 10 * time.Minute})
		b := askedBatch(3)
		if _, err := p.ProvisionBatch(t.Context(), b); err == nil || provider.IsNotCreated(err) {
			t.Fatalf("wanted a failure that claims nothing, got %v", err)
		}
		if made, err := p.ProvisionBatch(t.Context(), b); err != nil || len(made) != 3 || !made[0].Existed {
			t.Fatalf("wanted what the first request made, got %v, %v", made, err)
		}
		time.Sleep(20 * time.Minute)
		l.endBatch(t, p, l.wholeBatch(t, p, b))
	})
}

// A manager that died between the call and its answer looks. That some are gone by
// then changes nothing about who the others are.
func TestWhoAMachineOfABatchIsNeedsNeitherAnAnswerNorTheOthers(t *testing.T) {
	l := newLab(t, ec2sim.Options{LargestPage: 5})
	p := l.start(t)
	l.Inject(ec2sim.Fault{Operation: "RunInstances", After: true})
	b := askedBatch(6)
	_, _ = p.ProvisionBatch(t.Context(), b)
	p = l.start(t)
	ids := l.wholeBatch(t, p, b)
	for _, n := range []int{0, 3} {
		k := b.Members[n].Key
		if _, err := p.Terminate(t.Context(), provider.Ref{ID: ids[k], Key: k}); err != nil {
			t.Fatal(err)
		}
		delete(ids, k)
	}
	l.Advance(2 * time.Hour) // until they aren't listed any more
	instances, _ := list(t.Context(), t, p)
	if len(instances) != 4 {
		t.Fatalf("%d are listed", len(instances))
	}
	for _, one := range instances {
		if ids[one.Key] != one.ID {
			t.Errorf("%s was %s and is %s now", one.Key, ids[one.Key], one.ID)
		}
	}
	// The same call again, as for a member that a list missed, creates nothing again.
	if again, _ := p.ProvisionBatch(t.Context(), b); len(again) > 6 {
		t.Errorf("%v", again)
	}
	if instances, _ = list(t.Context(), t, p); len(instances) != 4 {
		t.Errorf("%d are listed after the same call again", len(instances))
	}
	l.endBatch(t, p, ids)
}

func TestARefusedBatchMakesNone(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	l.SetCapacity(ec2sim.Market{InstanceType: "c7i.large", Zone: "us-east-1a"}, 4)
	_, err := p.ProvisionBatch(t.Context(), askedBatch(5))
	if !provider.IsNotCreated(err) || classOf(err) != provider.Capacity {
		t.Fatalf("room for 4 of 5: %v", err)
	}
	if instances, parts := list(t.Context(), t, p); len(instances)+len(parts) > 0 {
		t.Errorf("%v %v", instances, parts)
	}
}

func TestTheSameBatchWithOtherMembersIsAConflictAndNoProof(t *testing.T) {
	l := newLab(t, ec2sim.Options{Delays: ec2sim.Delays{Visible: time.Minute}})
	p := l.start(t)
	if _, err := p.ProvisionBatch(t.Context(), askedBatch(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ProvisionBatch(t.Context(), askedBatch(2)); err == nil || provider.IsNotCreated(err) ||
		classOf(err) != provider.Conflict {
		t.Fatalf("wanted a conflict that claims nothing, got %v", err)
	}
}

// Who launches "more like this" copies tags and gets numbers from 0 on.
func TestACopyOfAMachineOfABatchIsReportedAndSurvives(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	b := askedBatch(3)
	if _, err := p.ProvisionBatch(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	ids := l.wholeBatch(t, p, b)
	tags, err := p.batchTags(b,
		request{Key: b.Key, Name: b.Fleet, Fleet: b.Fleet, Instance: b.Instance, InstanceDigest: b.InstanceDigest})
	if err != nil {
		t.Fatal(err)
	}
	copy := more(t, p, asked(), tags)
	first := b.Members[0].Key
	if state, err := p.Terminate(t.Context(), provider.Ref{ID: copy, Key: first}); state != provider.Refused ||
		err == nil {
		t.Fatalf("the copy isn't ours, and Terminate says %v, %v", state, err)
	}
	instances, _ := list(t.Context(), t, p)
	told := 0
	for _, one := range instances {
		if one.Key == first {
			told++
		}
		if one.ID == copy && !strings.Contains(one.Detail, "it is a copy of the instance of "+first) {
			t.Errorf("the copy is told as %+v", one)
		}
	}
	if told != 2 {
		t.Errorf("%d carry the key %s: who has a copy is in doubt", told, first)
	}
	if again, err := p.ProvisionBatch(t.Context(), b); err != nil || again[0].ID != ids[first] {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := p.api.TerminateInstances(t.Context(),
		&ec2.TerminateInstancesInput{InstanceIds: []string{copy}}); err != nil {
		t.Fatal(err)
	}
	l.Advance(time.Minute)
	l.endBatch(t, p, ids)
}

// A volume that no machine has could be of any. It is removed once the batch is over.
func TestWhatAMachineOfABatchLetGoIsRemovedOnceAllAreGone(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	b := askedBatch(2)
	input, err := p.launchBatch(t.Context(), b, request{
		Key: b.Key, Name: b.Fleet, Fleet: b.Fleet, Image: b.Image, Instance: b.Instance, InstanceDigest: b.InstanceDigest,
		Bootstrap: b.Bootstrap,
	})
	if err != nil {
		t.Fatal(err)
	}
	input.BlockDeviceMappings[0].Ebs.DeleteOnTermination = sdk.Bool(false)
	input.NetworkInterfaces[0].DeleteOnTermination = sdk.Bool(false)
	if _, err := p.api.RunInstances(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	ids := l.wholeBatch(t, p, b)
	first, second := b.Members[0].Key, b.Members[1].Key
	end := func(k string) {
		for _, want := range []provider.TerminateState{provider.TerminateAccepted, provider.Gone} {
			if state, err := p.Terminate(t.Context(), provider.Ref{ID: ids[k], Key: k}); err != nil ||
				state != want && state != provider.Gone {
				t.Fatalf("%s: %v, %v", k, state, err)
			}
			l.Advance(time.Minute)
		}
	}
	loose := func() (parts []provider.Resource) {
		_, all := list(t.Context(), t, p)
		for _, one := range all {
			if one.BelongsTo == "" {
				parts = append(parts, one)
			}
		}
		return parts
	}
	end(second)
	let := loose()
	if len(let) != 2 {
		t.Fatalf("the second let go %v", let)
	}
	for _, one := range let {
		if one.Key != "" || one.Tags["forgeyard-proof"] != "" {
			t.Errorf("while the first runs it is told as %+v", one)
		}
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: one.ID, Key: first}); state != provider.Refused ||
			err == nil {
			t.Errorf("while the first runs %s is removed: %v, %v", one.ID, state, err)
		}
	}
	end(first)
	if let = loose(); len(let) != 4 {
		t.Fatalf("all are gone, and there is %v", let)
	}
	for _, one := range let {
		if one.Key != first || one.Tags["forgeyard-proof"] != b.Members[0].Tags["forgeyard-proof"] {
			t.Errorf("afterwards it is %+v", one)
		}
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: one.ID, Key: key}); state != provider.Refused ||
			err == nil {
			t.Errorf("a key of no member removes it: %v, %v", state, err)
		}
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: one.ID, Key: first}); err != nil ||
			state != provider.TerminateAccepted {
			t.Errorf("%s: %v, %v", one.ID, state, err)
		}
	}
	if instances, parts := list(t.Context(), t, p); len(instances)+len(parts) > 0 {
		t.Errorf("left behind: %v %v", instances, parts)
	}
}

func TestMembersAreFoundAndRemovedByTheirKeysAlone(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	b := askedBatch(3)
	if _, err := p.ProvisionBatch(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	k := b.Members[1].Key
	found := 0
	for one, err := range p.Inspect(context.Background(), provider.Query{Keys: []string{k}}) {
		if err != nil {
			t.Fatal(err)
		}
		if one.Kind == "" && one.Key == k {
			found++
		}
	}
	if found != 1 {
		t.Errorf("asked for by its key it is listed %d times", found)
	}
	if state, err := p.Terminate(t.Context(), provider.Ref{Key: k}); err != nil || state == provider.Refused {
		t.Fatalf("%v, %v", state, err)
	}
	l.Advance(time.Minute)
	if instances, _ := list(t.Context(), t, p); len(instances) != 2 {
		t.Errorf("%d are left", len(instances))
	}
}

// The largest batch, with proofs and tags as long as they get.
func TestTheTagsOfTheLargestBatchFit(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	b := askedBatch(mostMembers)
	b.Instance.Tags = map[string]string{}
	for n := range 20 {
		b.Instance.Tags[fmt.Sprintf("team-%d", n)] = strings.Repeat("x", 200)
	}
	if _, err := p.ProvisionBatch(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	instances, _ := list(t.Context(), t, p)
	if len(instances) != mostMembers {
		t.Fatalf("%d machines", len(instances))
	}
	for n := range 30 {
		b.Instance.Tags[fmt.Sprintf("more-%d", n)] = "x"
	}
	b.Key = "01jx00000000000000000000b2"
	_, err := p.ProvisionBatch(t.Context(), b)
	if !provider.IsNotCreated(err) || classOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), "the API takes 50") {
		t.Errorf("too many tags: %v", err)
	}
}

// A member's host is known by its document: which member it is isn't known beforehand.
func TestTheDocumentOfAMachineOfABatchSaysWhichItIs(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.startVerifying(t)
	b := askedBatch(2)
	made, err := p.ProvisionBatch(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	l.Advance(time.Minute)
	for n, one := range made {
		evidence := l.evidenceOf(t, one.ID)
		evidence.Key, evidence.Instance = "", ""
		if found, err := p.VerifyIdentity(t.Context(), evidence); err != nil || found.Instance != one.ID {
			t.Errorf("member %d is verified as %+v, %v", n, found, err)
		}
		evidence.Key, evidence.Instance = b.Members[n].Key, one.ID
		if _, err := p.VerifyIdentity(t.Context(), evidence); err != nil {
			t.Errorf("member %d under its own key: %v", n, err)
		}
		evidence.Key = b.Members[1-n].Key
		if _, err := p.VerifyIdentity(t.Context(), evidence); refusalOf(err) != "other instance" {
			t.Errorf("member %d under the other's key: %v", n, err)
		}
	}
	foreign := more(t, p, asked(), map[string]string{"Name": "somebody's"})
	l.Advance(time.Minute)
	evidence := l.evidenceOf(t, foreign)
	evidence.Key, evidence.Instance = "", ""
	if _, err := p.VerifyIdentity(t.Context(), evidence); refusalOf(err) != "other instance" {
		t.Errorf("a machine of somebody else: %v", err)
	}
}

// A dedicated host is found, claimed and, if need be, allocated for each machine by itself.
func TestABatchOnDedicatedHostsIsRefusedBeforeAnythingIsSent(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	b := askedBatch(2)
	b.Instance.Tenancy = "host"
	_, err := p.ProvisionBatch(t.Context(), b)
	if !provider.IsNotCreated(err) || classOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), "leave batch out") {
		t.Fatalf("wanted a refusal that says what to do, got %v", err)
	}
	if calls := l.Calls("RunInstances"); calls != 0 {
		t.Fatalf("%d launches were sent", calls)
	}
}

// What a list shows exists, whatever becomes of the call that comes again.
func TestARefusalIsNoProofForABatchOfWhichSomeAreSeen(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	b := askedBatch(3)
	made, err := l.start(t).ProvisionBatch(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	l.gone(t, l.start(t), made[0].ID, made[0].Key)
	l.Advance(2 * time.Hour) // the list has forgotten it
	l.Inject(ec2sim.Fault{Operation: "RunInstances", Status: 503, Code: "RequestLimitExceeded"})
	found, err := l.start(t).ProvisionBatch(t.Context(), b)
	if err == nil || provider.IsNotCreated(err) || len(found) != 2 || !found[0].Existed {
		t.Fatalf("wanted the two that exist and no proof, got %v, %v", found, err)
	}
}

// A call has its bucket, and the machines that it makes have another.
func TestBatchesComeNoFasterThanTheBucketOfMachinesAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := newLimits()
		begun := time.Now()
		for range 60 { // 200 more than the bucket holds
			if err := limits.launch(t.Context(), 20); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took < 100*time.Second || took > 101*time.Second {
			t.Fatalf("1,200 machines took %s, and the bucket gives the last 200 in 100 seconds", took)
		}
	})
}
