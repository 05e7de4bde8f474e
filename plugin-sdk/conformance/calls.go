package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// What the kit's requests carry: labels as long as they may be, since a fleet's id and a
// digest are echoed by what the infrastructure keeps of them.
const (
	namePrefix     = "conformance"
	fleetID        = "01-the-id-of-a-fleet-that-is-as-long-as-a-label-may-ever-be-063"
	instanceDigest = "digest-of-an-instance-block-that-is-as-long-as-a-label-can-be-0"
)

// receiveAll passes every message of a stream on, until it ends.
func receiveAll[M any](stream grpc.ServerStreamingClient[M], err error, each func(*M) error) error {
	for err == nil {
		var message *M
		if message, err = stream.Recv(); err == nil {
			err = each(message)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// request is what is sent for the items: the same bytes whenever it is sent.
func (b *bench) request(items ...*providerpb.ProvisionRequest_Item) *providerpb.ProvisionRequest {
	return &providerpb.ProvisionRequest{
		Fleet: fleetID, InstanceJson: b.options.Instance, InstanceDigest: instanceDigest,
		Image: b.options.Image, Platform: &providerpb.Platform{Os: b.options.OS, Arch: b.options.Arch},
		Offers: b.usable, Items: items,
	}
}

// newItem asks for an instance under a new key.
func (b *bench) newItem() (*providerpb.ProvisionRequest_Item, error) {
	key, err := idText(b.options.Random, 26)
	if err != nil {
		return nil, err
	}
	item := &providerpb.ProvisionRequest_Item{
		Key: key, Name: namePrefix + "-" + key[20:],
		Tags: map[string]string{
			providerpb.TagInstallation: b.installation,
			providerpb.TagFleet:        fleetID,
			providerpb.TagInstance:     "02" + key[2:],
			providerpb.TagKey:          key,
			"forgeyard-image":          strings.Repeat("a", providerpb.MaxLabel), // the longest that a value can be
			providerpb.TagProof:        "v1-k1-" + key,
		},
		Bootstrap: &providerpb.Bootstrap{
			Kind: "file", ManagerUrl: "https://127.0.0.1:1",
			ServerName:    "manager." + b.installation + ".forgeyard-fleet.internal",
			CaFingerprint: "sha256:" + strings.Repeat("ab", 32), Token: b.token,
			AgentUrl: b.options.AgentURL, AgentSha256: b.options.AgentSHA256,
		},
	}
	if b.byAsset() {
		if len(b.free) == 0 {
			return nil, skip("its instances are hosts of an inventory, and no asset that may be taken was named")
		}
		item.Asset, b.free = b.free[0], b.free[1:]
	}
	b.items = append(b.items, item)
	return item, nil
}

// newItems are several; where assets are few, as many as there are.
func (b *bench) newItems(n int) ([]*providerpb.ProvisionRequest_Item, error) {
	if limit := int(b.info.GetMaxBatch()); limit > 0 {
		n = min(n, limit)
	}
	if b.byAsset() && len(b.free) > 0 {
		n = min(n, len(b.free))
	}
	var items []*providerpb.ProvisionRequest_Item
	for range n {
		item, err := b.newItem()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (b *bench) byAsset() bool {
	return b.info.GetOwnership() == providerpb.Ownership_OWNERSHIP_ASSIGNED
}

// provision sends one call and gives the answers by key. The error is the
// stream's, or says that an answer isn't one.
func (b *bench) provision(ctx context.Context, client providerpb.ProviderClient,
	items ...*providerpb.ProvisionRequest_Item) (map[string]*providerpb.ProvisionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, provisionCall)
	defer cancel()
	asked := map[string]bool{}
	for _, item := range items {
		asked[item.GetKey()] = true
	}
	answers := map[string]*providerpb.ProvisionResponse{}
	stream, err := client.Provision(ctx, b.request(items...))
	err = receiveAll(stream, err, func(answer *providerpb.ProvisionResponse) error {
		switch {
		case !asked[answer.GetKey()]:
			return fmt.Errorf("an answer is for the key %q, which wasn't asked for", answer.GetKey())
		case answers[answer.GetKey()] != nil:
			return fmt.Errorf("the key %s is answered twice", answer.GetKey())
		}
		answers[answer.GetKey()] = answer
		return nil
	})
	if err != nil {
		return answers, fmt.Errorf("provision: %w", err)
	}
	return answers, nil
}

// look is a complete list.
type look struct {
	resources        []*providerpb.Resource
	absent, inFlight map[string]bool
}

// inspect lists what the keys made; without keys everything. The error says that
// the list isn't complete, or contradicts itself.
func inspect(ctx context.Context, client providerpb.ProviderClient, keys ...string) (look, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectCall)
	defer cancel()
	seen := look{absent: map[string]bool{}, inFlight: map[string]bool{}}
	stream, err := client.Inspect(ctx, &providerpb.InspectRequest{Keys: keys})
	err = receiveAll(stream, err, func(page *providerpb.InspectResponse) error {
		if len(page.GetResources()) > providerpb.MaxPage {
			return fmt.Errorf("a message has %d resources, and may have %d", len(page.GetResources()), providerpb.MaxPage)
		}
		seen.resources = append(seen.resources, page.GetResources()...)
		for _, key := range page.GetAbsentKeys() {
			seen.absent[key] = true
		}
		for _, key := range page.GetInFlightKeys() {
			seen.inFlight[key] = true
		}
		return nil
	})
	if err != nil {
		return seen, fmt.Errorf("inspect: %w", err)
	}
	return seen, seen.check()
}

// check finds what a list can't say.
func (l look) check() error {
	ids := map[string]bool{}
	for _, resource := range l.resources {
		id := resource.GetKind() + " " + resource.GetId()
		switch {
		case resource.GetId() == "" && (resource.GetKey() == "" || resource.GetState() != providerpb.Resource_STATE_PENDING):
			return fmt.Errorf("a resource has no id; only one of a key that is pending may lack it: %s", shown(resource))
		case resource.GetId() != "" && ids[id]:
			return fmt.Errorf("the resource %s is listed twice", resource.GetId())
		case l.absent[resource.GetKey()]:
			return fmt.Errorf("the key %s is said to be absent, and %s carries it", resource.GetKey(), shown(resource))
		}
		ids[id] = true
	}
	return nil
}

// of are the instances that an item made; what belongs to one isn't among them.
func (l look) of(item *providerpb.ProvisionRequest_Item) []*providerpb.Resource {
	var made []*providerpb.Resource
	for _, resource := range l.resources {
		secondary := resource.GetBelongsTo() != "" || resource.GetKind() != "" && resource.GetKind() != "instance"
		switch {
		case resource.GetState() == providerpb.Resource_STATE_GONE:
		case item.GetAsset() != "" && resource.GetId() == item.GetAsset():
			made = append(made, resource)
		case item.GetAsset() == "" && resource.GetKey() == item.GetKey() && !secondary:
			made = append(made, resource)
		}
	}
	return made
}

// lookFor lists what an item made. Assets may not know their keys, so all are
// listed then.
func (b *bench) lookFor(ctx context.Context, item *providerpb.ProvisionRequest_Item) (look, error) {
	client, err := b.ready(ctx)
	if err != nil {
		return look{}, err
	}
	if item.GetAsset() != "" {
		return inspect(ctx, client)
	}
	return inspect(ctx, client, item.GetKey())
}

// terminate asks once for each reference, and gives the answers in their order.
func (b *bench) terminate(ctx context.Context, refs ...*providerpb.Ref) ([]*providerpb.TerminateResponse, error) {
	client, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, terminateCall)
	defer cancel()
	answers := make([]*providerpb.TerminateResponse, len(refs))
	stream, err := client.Terminate(ctx, &providerpb.TerminateRequest{Refs: refs})
	err = receiveAll(stream, err, func(answer *providerpb.TerminateResponse) error {
		for i, ref := range refs {
			if answers[i] == nil && ref.GetKey() == answer.GetKey() &&
				(answer.GetId() == "" || ref.GetId() == "" || ref.GetId() == answer.GetId()) {
				answers[i] = answer
				return nil
			}
		}
		return fmt.Errorf("an answer is for {id %q, key %q}, which wasn't asked for", answer.GetId(), answer.GetKey())
	})
	if err != nil {
		return answers, fmt.Errorf("terminate: %w", err)
	}
	for i, answer := range answers {
		if answer == nil {
			return answers, fmt.Errorf("terminate: {id %q, key %q} got no answer", refs[i].GetId(), refs[i].GetKey())
		}
	}
	return answers, nil
}

// shown is a resource in one line, without its tags.
func shown(resource *providerpb.Resource) string {
	return fmt.Sprintf("{id %q, key %q, kind %q, %v}", resource.GetId(), resource.GetKey(), resource.GetKind(),
		resource.GetState())
}

// said is what an answer says, in one line.
func said(answer *providerpb.ProvisionResponse) string {
	if answer == nil {
		return "no answer"
	}
	text := answer.GetOutcome().String()
	if answer.GetError() != nil {
		text += fmt.Sprintf(" (%v: %s)", answer.GetError().GetClass(), answer.GetError().GetMessage())
	}
	return text
}

func endOf(answer *providerpb.TerminateResponse) string {
	text := answer.GetOutcome().String()
	if answer.GetError() != nil {
		text += fmt.Sprintf(" (%v: %s)", answer.GetError().GetClass(), answer.GetError().GetMessage())
	}
	return text
}

// sameTags says whether the wanted tags came back as they were sent.
func sameTags(sent, listed map[string]string) error {
	for name, value := range sent {
		if got, there := listed[name]; !there {
			return fmt.Errorf("the tag %s is missing", name)
		} else if got != value {
			return fmt.Errorf("the tag %s was sent as %q and is listed as %q", name, value, got)
		}
	}
	return nil
}

// clone keeps a message as it is now.
func clone[M proto.Message](message M) M { return proto.CloneOf(message) }
