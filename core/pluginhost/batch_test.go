//go:build unix

package pluginhost

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// testBatches answers each member with what it got, but for those called "missing".
type testBatches struct {
	providerpb.UnimplementedBatchProvisionerServer
}

func (testBatches) ProvisionBatch(
	r *providerpb.ProvisionBatchRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse],
) error {
	for n, item := range r.GetRequest().GetItems() {
		if item.GetName() == "missing" {
			continue
		}
		if item.GetBootstrap() != nil {
			return status.Error(codes.InvalidArgument, "a member has a document of its own")
		}
		id := fmt.Sprintf("%s/%d/%s/%s", r.GetKey(), n, r.GetBootstrap().GetToken(), r.GetRequest().GetFleet())
		if err := stream.Send(
			&providerpb.ProvisionResponse{
				Key:      item.GetKey(),
				Outcome:  providerpb.ProvisionResponse_OUTCOME_CREATED,
				Resource: &providerpb.Resource{Id: id},
			},
		); err != nil {
			return err
		}
	}
	return nil
}

// askBatch asks for a batch of the keys, and gives the answers.
func askBatch(
	t *testing.T,
	names map[fleet.OperationID]string,
	keys ...fleet.OperationID,
) (map[fleet.OperationID]ProvisionAnswer, error) {
	t.Helper()
	request := ProvisionRequest{Batch: "b1", Fleet: "fleet.small", Address: "fleet.small"}
	for _, key := range keys {
		request.Items = append(
			request.Items,
			ProvisionItem{Key: key, Name: names[key], Bootstrap: Bootstrap{Token: "secret"}},
		)
	}
	answers := map[fleet.OperationID]ProvisionAnswer{}
	err := started(t, launch(t, "")).Provision(t.Context(), request, func(a ProvisionAnswer) { answers[a.Key] = a })
	return answers, err
}

func TestABatchIsOneCallWithOneDocument(t *testing.T) {
	answers, err := askBatch(t, map[fleet.OperationID]string{"k2": "missing"}, "k1", "k2", "k3")
	if err != nil || len(answers) != 3 {
		t.Fatalf("%v, %v", answers, err)
	}
	if a := answers["k3"]; a.Outcome != fleet.ProvisionCreated || a.Resource.ID != "b1/2/secret/fleet.small" ||
		a.Resource.Key != "k3" ||
		!a.CallOver {
		t.Errorf("%+v", a)
	}
	if a := answers["k2"]; a.Outcome != fleet.ProvisionUnknown || a.Err == nil || !a.CallOver {
		t.Errorf("who was left out is %+v", a)
	}
}

func TestABatchWhoseKeysArentItsOwnIsNeverSent(t *testing.T) {
	for _, keys := range [][]fleet.OperationID{{"k1", "k1"}, {"k1", ""}, {"k1", "b1"}} {
		answers, err := askBatch(t, nil, keys...)
		if err == nil || answers[keys[0]].Outcome != fleet.ProvisionNotSent {
			t.Errorf("%q: %v, %v", keys, answers, err)
		}
	}
}

// What a plugin says of itself that doesn't fit together is read as the least.
func TestBatchesNeedIdentitiesAndNativeIdempotency(t *testing.T) {
	for name, c := range map[string]struct {
		services []string
		kind     providerpb.Idempotency
		want     bool
	}{
		"all of it":           {[]string{"identity", "batch"}, providerpb.Idempotency_IDEMPOTENCY_NATIVE, true},
		"no batches":          {[]string{"identity"}, providerpb.Idempotency_IDEMPOTENCY_NATIVE, false},
		"no identities":       {[]string{"batch"}, providerpb.Idempotency_IDEMPOTENCY_NATIVE, false},
		"it looks for a tag":  {[]string{"identity", "batch"}, providerpb.Idempotency_IDEMPOTENCY_BY_TAG, false},
		"nothing makes it so": {[]string{"identity", "batch"}, providerpb.Idempotency_IDEMPOTENCY_NONE, false},
	} {
		info, err := infoOf(
			&providerpb.GetInfoResponse{
				Name:        "test",
				Version:     "1.0.0",
				Services:    c.services,
				Idempotency: c.kind,
				MaxBatch:    7,
				ListSettle:  durationpb.New(0),
			},
		)
		if err != nil || info.Schemas.Batches != c.want || info.Facts("").Batches != c.want ||
			(info.Schemas.MaxBatch == 7) != c.want {
			t.Errorf("%s: %+v, %v", name, info.Schemas, err)
		}
	}
}
