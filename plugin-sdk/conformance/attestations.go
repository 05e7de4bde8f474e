package conformance

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var attestationRules = []Rule{
	{
		Name: "attestations-offline", check: attestationsOffline,
		Says: "Attestable answers before Configure and the same each time, about what GetInfo declares.",
	},
}

var attestedRules = []Rule{
	{
		Name: "attested-declared", check: attestedDeclared, Creates: true,
		Says: "An instance is attested only what GetInfo declares, and what Attestable doesn't rule out.",
	},
}

// attestable asks what the instance block of the test can't have; nil: nothing is ruled out.
func (b *bench) attestable(ctx context.Context) (*providerpb.Attestable, error) {
	if !b.offers(providerpb.AttestationsService) {
		return &providerpb.Attestable{}, nil
	}
	running, err := b.started(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	response, err := providerpb.NewAttestationsClient(running.Connection()).Attestable(ctx, &providerpb.AttestableRequest{
		ProviderJson: b.options.Provider, InstanceJson: map[string][]byte{namePrefix: b.options.Instance},
	})
	if err != nil {
		return nil, fmt.Errorf("attestable: %w", err)
	}
	answer := response.GetFleets()[namePrefix]
	if answer == nil {
		return nil, fmt.Errorf("it says nothing of the fleet that it was asked about")
	}
	return answer, nil
}

func attestationsOffline(ctx context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	if !b.offers(providerpb.AttestationsService) {
		return skip("GetInfo doesn't name %q", providerpb.AttestationsService)
	}
	if _, err := b.fresh(ctx, true); err != nil {
		return err
	}
	first, err := b.attestable(ctx)
	if err != nil {
		return err
	}
	again, err := b.attestable(ctx)
	if err != nil {
		return err
	}
	if !proto.Equal(first, again) {
		return fmt.Errorf("it says %v first, and then %v", first, again)
	}
	for _, missing := range first.GetMissing() {
		if !slices.Contains(b.info.GetAttestations(), missing.GetAttestation()) {
			return fmt.Errorf("it rules out %q, which GetInfoResponse.attestations doesn't have", missing.GetAttestation())
		}
		if missing.GetReason() == "" {
			return fmt.Errorf("it rules out %q without a reason", missing.GetAttestation())
		}
	}
	return nil
}

func attestedDeclared(ctx context.Context, b *bench) error {
	made, err := b.shared(ctx)
	if err != nil {
		return err
	}
	answer, err := b.attestable(ctx)
	if err != nil {
		return err
	}
	for _, word := range made.listed.GetAttested() {
		if !slices.Contains(b.info.GetAttestations(), word) {
			return fmt.Errorf("%s is attested %q: declare it in GetInfoResponse.attestations", shown(made.listed), word)
		}
		for _, missing := range answer.GetMissing() {
			if missing.GetAttestation() == word {
				return fmt.Errorf("%s is attested %q, and its block can't have that: %s", shown(made.listed), word,
					missing.GetReason())
			}
		}
	}
	return nil
}
