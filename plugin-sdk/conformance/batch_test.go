package conformance_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

type batchRequest = provider.BatchRequest[instance]

// tokens are the batches that the infrastructure has made, by their keys.
type tokens struct {
	mutex sync.Mutex
	made  map[string]bool
}

// cutBatch is how many batches the kit makes before the one that it cuts off.
const cutBatch = 3

// catering is an infrastructure that signs, and makes several instances by one call.
type catering struct {
	signing
	tokens *tokens
	// wrong is the one thing that isn't as it should be.
	wrong string
}

func (c catering) ProvisionBatch(_ context.Context, r batchRequest) ([]provider.Resource, error) {
	c.tokens.mutex.Lock()
	defer c.tokens.mutex.Unlock()
	before := c.tokens.made[r.Key]
	if c.wrong == "cut" && !before && len(c.tokens.made) == cutBatch {
		<-c.lifetime.Done()
		c.tokens.made[r.Key] = true
		c.add(request{Key: r.Members[0].Key, Fleet: r.Fleet, Tags: r.Members[0].Tags})
		return nil, errors.New("cut off")
	}
	c.tokens.made[r.Key] = true
	var all []provider.Resource
	for n, member := range r.Members {
		found := c.find(member.Key)
		switch {
		case len(found) > 0 && (c.wrong != "again" || n != 1):
			found[0].Existed = true
			all = append(all, found[0])
			continue
		case before && c.wrong != "recreates" && len(found) == 0:
			continue // it is gone
		}
		one := request{Key: member.Key, Fleet: r.Fleet, Tags: maps.Clone(member.Tags), InstanceDigest: r.InstanceDigest}
		if c.wrong == "tags" {
			one.Tags = maps.Clone(r.Members[0].Tags)
		}
		all = append(all, c.add(one))
	}
	if len(all) < len(r.Members) {
		return all, errors.New("some of the batch are gone")
	}
	return all, nil
}

// batchFault is a fault of a plugin that makes batches.
type batchFault struct {
	rule, wrong string
	// also are rules that the same fault may break.
	also []string
	// provider names what its provider does wrong; service changes its answers.
	provider string
	service  func(providerpb.BatchProvisionerServer, *account) providerpb.BatchProvisionerServer
	info     func(*providerpb.GetInfoResponse)
}

// careless sends each batch to the infrastructure whichever runs already.
type careless struct {
	providerpb.BatchProvisionerServer
	account *account
	gate    sync.Mutex
	waiting int
}

// underWay is how long its calls take, so that those that come at once do meet.
const underWay = 300 * time.Millisecond

func (c *careless) ProvisionBatch(r *providerpb.ProvisionBatchRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse]) error {
	c.gate.Lock()
	c.waiting++
	first := c.waiting == 1
	c.gate.Unlock()
	defer func() { c.gate.Lock(); c.waiting--; c.gate.Unlock() }()
	if first {
		err := c.BatchProvisionerServer.ProvisionBatch(r, stream)
		select {
		case <-time.After(underWay):
		case <-stream.Context().Done():
		}
		return err
	}
	for _, item := range r.Request.Items {
		made := c.account.add(request{Key: item.Key, Fleet: r.Request.Fleet, Tags: item.Tags})
		if err := stream.Send(
			&providerpb.ProvisionResponse{Key: item.Key, Outcome: providerpb.ProvisionResponse_OUTCOME_CREATED,
				Resource: &providerpb.Resource{Id: made.ID, Key: item.Key}}); err != nil {
			return err
		}
	}
	return nil
}

var batchFaults = []batchFault{
	{rule: "batches-declared", wrong: "it looks for tags before it creates", info: func(info *providerpb.GetInfoResponse) {
		info.Idempotency = providerpb.Idempotency_IDEMPOTENCY_BY_TAG
	}},
	{rule: "batch-creates", wrong: "all of a batch have the first one's tags", provider: "tags"},
	{rule: "same-batch-in-sequence", wrong: "the second member is made again", provider: "again",
		also: []string{"same-batch-at-once", "batch-cut-after-request", "batch-creates-nothing-twice"}},
	{rule: "same-batch-at-once", wrong: "a batch that is under way is made once more",
		service: func(s providerpb.BatchProvisionerServer, a *account) providerpb.BatchProvisionerServer {
			return &careless{BatchProvisionerServer: s, account: a}
		}},
	{rule: "batch-cut-after-request", wrong: "of a batch that is cut off the first is left", provider: "cut"},
	{rule: "batch-creates-nothing-twice", wrong: "what is gone is made again", provider: "recreates"},
}

// batchLab is lab for a plugin that makes batches, with at most one fault.
func batchLab(f batchFault) (conformance.Launcher, conformance.Options) {
	made := &tokens{made: map[string]bool{}}
	verifying, evidence, err := signer()
	if err != nil {
		panic(err)
	}
	base := fault{
		plugin: func(p *plugin) { p.Identity, p.Batches, p.Idempotency = true, true, provider.IdempotentNative },
		provider: func(h honest) provider.Provider[instance] {
			return catering{signing: verifying(h).(signing), tokens: made, wrong: f.provider}
		},
	}
	if f.info != nil {
		base.service = func(s service, _ *account) service { return describes{s, f.info} }
	}
	base.batches = f.service
	launcher, options := lab(base)
	options.Evidence = evidence
	return launcher, options
}

func TestAnHonestPluginThatMakesBatchesKeepsEveryRule(t *testing.T) {
	launcher, options := batchLab(batchFault{})
	results := verdicts(t, launcher, options)
	for _, result := range results {
		if result.Verdict == conformance.Fail {
			t.Errorf("%s: %s", result.Rule, result.Reason)
		}
	}
	for _, f := range batchFaults {
		if result := results[f.rule]; result.Verdict != conformance.Pass {
			t.Errorf("%s: %s %s", f.rule, result.Verdict, result.Reason)
		}
	}
}

func TestEveryBrokenPluginThatMakesBatchesFailsItsOwnRule(t *testing.T) {
	for _, f := range batchFaults {
		t.Run(f.rule, func(t *testing.T) {
			t.Parallel()
			launcher, options := batchLab(f)
			results := verdicts(t, launcher, options)
			for _, rule := range conformance.Rules() {
				if failed := results[rule.Name].Verdict == conformance.Fail; failed != (rule.Name == f.rule) &&
					!slices.Contains(f.also, rule.Name) {
					t.Errorf("where %s, the rule %s is %s: %s", f.wrong, rule.Name, results[rule.Name].Verdict,
						results[rule.Name].Reason)
				}
			}
		})
	}
}
