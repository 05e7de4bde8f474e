//go:build unix

package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// ProvisionRequest makes instances of one fleet, one for each item.
type ProvisionRequest struct {
	// Batch is the key under which all items are one call of the provider, with one
	// bootstrap document, the first one's; empty: each item is a call of its own.
	Batch fleet.OperationID
	// Fleet is what the plugin gets and echoes, Address what messages say.
	Fleet          fleet.RunnerFleetID
	Address        fleet.FleetAddress
	Instance       json.RawMessage
	InstanceDigest string
	Image          string
	Platform       fleet.Platform
	// Offers are ordered and exhaustive.
	Offers []fleet.Offer
	Items  []ProvisionItem
}

// ProvisionItem is one instance to make.
type ProvisionItem struct {
	// Key is the operation's id; it was stored before this call.
	Key       fleet.OperationID
	Name      string
	Tags      map[string]string
	Asset     string
	Bootstrap Bootstrap
}

// Bootstrap is what the first boot must do. It is secret.
type Bootstrap struct {
	fleet.BootstrapIntent
	Token string
}

// String keeps the token out of logs and messages.
func (b Bootstrap) String() string { return "bootstrap for " + b.ManagerURL }

// GoString keeps it out of %#v as well.
func (b Bootstrap) GoString() string { return b.String() }

// ProvisionAnswer is the answer for one item.
type ProvisionAnswer struct {
	Key     fleet.OperationID
	Outcome fleet.ProvisionOutcome
	// Resource is set where the outcome is created or existed, and may be where
	// it is accepted.
	Resource *fleet.Resource
	// Err is the provider's error; nil: none.
	Err *CallError
	// CallOver says that the call for this key is surely over: the plugin
	// answered, or its process has ended. Otherwise it may still be at work, and
	// is over no later than the process.
	CallOver bool
}

// Provision hands the items to the plugin and passes each answer on as it
// comes, from the caller's goroutine. Every item is answered exactly once: one
// that the plugin leaves out is unknown, and where nothing was sent, none is.
// The error says why the call as a whole failed and adds nothing to the answers.
func (p *Process) Provision(ctx context.Context, request ProvisionRequest, answer func(ProvisionAnswer)) error {
	what := fmt.Sprintf("make %d instances of %s", len(request.Items), request.Address)
	open := map[fleet.OperationID]bool{}
	var bad *CallError
	for _, item := range request.Items {
		if item.Key == "" || open[item.Key] || item.Key == request.Batch {
			bad = invalid("the key %q is empty or used twice", item.Key)
		}
		open[item.Key] = true
	}
	made := provisioning{process: p, what: what, request: request, bad: bad, open: open, answer: answer}
	if request.Batch != "" {
		return provisionBy(ctx, made, request.batchMessage(), p.sendBatch)
	}
	return provisionBy(ctx, made, request.message(), p.sendProvision)
}

// provisioning is one call and who waits for its answers.
type provisioning struct {
	process *Process
	what    string
	request ProvisionRequest
	bad     *CallError
	open    map[fleet.OperationID]bool
	answer  func(ProvisionAnswer)
}

// provisionBy makes the call by one of the contract's two ways, which answer alike.
func provisionBy[Message any](
	ctx context.Context,
	c provisioning,
	message *Message,
	send func(context.Context, *Message, ...grpc.CallOption) (grpc.ServerStreamingClient[providerpb.ProvisionResponse],
		error),
) error {
	p, refusal := c.process, c.bad
	if refusal == nil {
		refusal = p.refusal(ctx, any(message).(proto.Message))
	}
	if refusal != nil {
		for _, item := range c.request.Items {
			c.answer(ProvisionAnswer{Key: item.Key, Outcome: fleet.ProvisionNotSent, Err: refusal, CallOver: true})
		}
		return p.notSent(c.what, refusal)
	}
	unexpected := unexpectedItems{logger: p.launch.Logger, what: "the plugin answers for a key that isn't open"}
	err := stream(ctx, maxAnswers, send, message, func(response *providerpb.ProvisionResponse) {
		a := provisionAnswerOf(response)
		if !c.open[a.Key] {
			unexpected.note("key", a.Key, "outcome", a.Outcome)
			return
		}
		delete(c.open, a.Key)
		c.answer(a)
	})
	unexpected.report()
	over := p.callOver(err)
	why := &CallError{Class: fleet.ErrorInternal, Message: "the plugin ended the call without an answer for this item"}
	if err != nil {
		why = classify(err)
	}
	for _, key := range slices.Sorted(maps.Keys(c.open)) {
		c.answer(ProvisionAnswer{Key: key, Outcome: fleet.ProvisionUnknown, Err: why, CallOver: over})
	}
	if err != nil {
		return p.failed(c.what, err)
	}
	return nil
}

// sendProvision sends the request and returns before the first answer.
func (p *Process) sendProvision(
	ctx context.Context,
	message *providerpb.ProvisionRequest,
	options ...grpc.CallOption,
) (grpc.ServerStreamingClient[providerpb.ProvisionResponse], error) {
	answers, err := p.rpc.Provision(ctx, message, options...)
	failpoint.ProvisionSent.Hit()
	return answers, err
}

// sendBatch is sendProvision for a batch.
func (p *Process) sendBatch(
	ctx context.Context,
	message *providerpb.ProvisionBatchRequest,
	options ...grpc.CallOption,
) (grpc.ServerStreamingClient[providerpb.ProvisionResponse], error) {
	answers, err := providerpb.NewBatchProvisionerClient(p.conn).ProvisionBatch(ctx, message, options...)
	failpoint.ProvisionSent.Hit()
	return answers, err
}

var provisionOutcomes = map[providerpb.ProvisionResponse_Outcome]fleet.ProvisionOutcome{
	providerpb.ProvisionResponse_OUTCOME_CREATED:     fleet.ProvisionCreated,
	providerpb.ProvisionResponse_OUTCOME_EXISTED:     fleet.ProvisionExisted,
	providerpb.ProvisionResponse_OUTCOME_ACCEPTED:    fleet.ProvisionAccepted,
	providerpb.ProvisionResponse_OUTCOME_NOT_CREATED: fleet.ProvisionNotCreated,
}

// provisionAnswerOf believes a plugin only where its answer is whole: an outcome
// that is unset, new to this version or at odds with the resource is unknown,
// and an inspection has to tell.
func provisionAnswerOf(response *providerpb.ProvisionResponse) ProvisionAnswer {
	a := ProvisionAnswer{
		Key:      fleet.OperationID(response.GetKey()),
		Outcome:  fleet.ProvisionUnknown,
		Err:      callErrorOf(response.GetError()),
		CallOver: true,
	}
	if known, ok := provisionOutcomes[response.GetOutcome()]; ok {
		a.Outcome = known
	}
	if response.GetResource() != nil {
		resource := resourceOf(response.GetResource())
		if resource.Key == "" {
			resource.Key = a.Key
		}
		a.Resource = &resource
	}
	if complaint := a.contradiction(); complaint != "" {
		a = ProvisionAnswer{Key: a.Key, Outcome: fleet.ProvisionUnknown, CallOver: true,
			Err: &CallError{Class: fleet.ErrorInternal, Message: complaint}}
	}
	return a
}

func (a ProvisionAnswer) contradiction() string {
	made := a.Outcome == fleet.ProvisionCreated || a.Outcome == fleet.ProvisionExisted
	switch {
	case made && (a.Resource == nil || a.Resource.ID == ""):
		return fmt.Sprintf("the plugin says %q and names no resource", a.Outcome)
	case a.Resource != nil && a.Resource.Key != a.Key:
		return fmt.Sprintf("the plugin answers with the resource of another key, %q", a.Resource.Key)
	case a.Outcome == fleet.ProvisionNotCreated && a.Resource != nil:
		return fmt.Sprintf("the plugin says that nothing was made and names resource %q", a.Resource.ID)
	}
	return ""
}

func (r ProvisionRequest) message() *providerpb.ProvisionRequest {
	message := &providerpb.ProvisionRequest{
		Fleet:          string(r.Fleet),
		InstanceJson:   r.Instance,
		InstanceDigest: labelOf(r.InstanceDigest),
		Image:          r.Image,
		Platform:       &providerpb.Platform{Os: r.Platform.OS, Arch: r.Platform.Arch},
	}
	for _, offer := range r.Offers {
		message.Offers = append(message.Offers, offerMessage(offer))
	}
	for _, item := range r.Items {
		message.Items = append(message.Items, &providerpb.ProvisionRequest_Item{
			Key:       string(item.Key),
			Name:      item.Name,
			Tags:      item.Tags,
			Asset:     item.Asset,
			Bootstrap: item.Bootstrap.message(),
		})
	}
	return message
}

// batchMessage takes the document out of the items: there is one for all.
func (r ProvisionRequest) batchMessage() *providerpb.ProvisionBatchRequest {
	message := &providerpb.ProvisionBatchRequest{Key: string(r.Batch), Request: r.message()}
	for _, item := range message.Request.Items {
		message.Bootstrap, item.Bootstrap = r.Items[0].Bootstrap.message(), nil
	}
	return message
}

func (b Bootstrap) message() *providerpb.Bootstrap {
	return &providerpb.Bootstrap{
		Kind:          b.Kind,
		ManagerUrl:    b.ManagerURL,
		CaFingerprint: b.CAFingerprint,
		Token:         b.Token,
		AgentUrl:      b.AgentURL,
		AgentSha256:   b.AgentSHA256,
		ServerName:    b.ServerName,
	}
}
