package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var identityRules = []Rule{
	{
		Name: "garbage-is-no-evidence", check: garbageIsNoEvidence,
		Says: "Verify refuses what has no valid signature: empty input, noise, and input that is too large.",
	},
	{
		Name: "evidence-verified", check: evidenceVerified,
		Says: "Verify takes genuine evidence and names the instance that it is of.",
	},
	{
		Name: "evidence-forged", check: evidenceForged,
		Says: "Verify refuses genuine evidence whose document was changed, or whose signature is missing, cut or another.",
	},
	{
		Name: "evidence-of-another", check: evidenceOfAnother,
		Says: "Verify refuses genuine evidence where the host must be another instance.",
	},
}

// evidence is the genuine evidence of the run; an error: there is none.
func (b *bench) evidence() (*providerpb.VerifyRequest, error) {
	if err := b.verifies(); err != nil {
		return nil, err
	}
	if b.options.Evidence == nil {
		return nil, skip("no genuine evidence was given")
	}
	return proto.CloneOf(b.options.Evidence), nil
}

func (b *bench) verifies() error {
	if b.info == nil {
		return errNoInfo
	}
	if !b.offers(providerpb.IdentityService) {
		return skip("GetInfo doesn't name %q", providerpb.IdentityService)
	}
	if needs := b.info.GetIdentityNeeds(); needs != "" {
		var block map[string]json.RawMessage
		if err := json.Unmarshal(b.options.Provider, &block); err != nil || block[needs] == nil {
			return skip("the provider block lacks %s, without which no identity is verified", needs)
		}
	}
	return nil
}

// verify asks the configured plugin for one verdict.
func (b *bench) verify(ctx context.Context, request *providerpb.VerifyRequest) (*providerpb.VerifyResponse, error) {
	if _, err := b.ready(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	response, err := providerpb.NewIdentityVerifierClient(b.running.Connection()).Verify(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return response, nil
}

// refuses says what is wrong where the plugin doesn't refuse the evidence.
func (b *bench) refuses(ctx context.Context, what string, request *providerpb.VerifyRequest) error {
	response, err := b.verify(ctx, request)
	switch {
	case err != nil:
		return fmt.Errorf("%s: a certain refusal was expected: %w", what, err)
	case response.GetVerified() != nil:
		return fmt.Errorf("%s is verified as the instance %q", what, response.GetVerified().GetInstanceId())
	case response.GetRefused().GetClass() == providerpb.RefusedIdentity_CLASS_UNSPECIFIED:
		return fmt.Errorf("%s is answered without a verdict, or with a refusal that has no class", what)
	case response.GetRefused().GetReason() == "":
		return fmt.Errorf("%s is refused without a reason", what)
	}
	return nil
}

func garbageIsNoEvidence(ctx context.Context, b *bench) error {
	if err := b.verifies(); err != nil {
		return err
	}
	noise := make([]byte, 256)
	if _, err := io.ReadFull(b.options.Random, noise); err != nil {
		return fmt.Errorf("make noise: %w", err)
	}
	kind := b.options.Evidence.GetKind()
	if kind == "" {
		kind = "aws"
	}
	for what, request := range map[string]*providerpb.VerifyRequest{
		"nothing at all":             {Kind: kind, InstanceId: "i-1"},
		"noise":                      {Kind: kind, Document: noise, Signature: noise, InstanceId: "i-1"},
		"a document without content": {Kind: kind, Document: []byte("{}"), Signature: []byte("e30="), InstanceId: "i-1"},
		"noise of no known kind":     {Kind: "kit", Document: noise, InstanceId: "i-1"},
		"a document of a megabyte":   {Kind: kind, Document: bytes.Repeat([]byte("a"), 1<<20), InstanceId: "i-1"},
	} {
		if err := b.refuses(ctx, what, request); err != nil {
			return err
		}
	}
	return nil
}

func evidenceVerified(ctx context.Context, b *bench) error {
	request, err := b.evidence()
	if err != nil {
		return err
	}
	response, err := b.verify(ctx, request)
	if err != nil {
		return err
	}
	want := request.GetInstanceId()
	if got := response.GetVerified().GetInstanceId(); got != want {
		return fmt.Errorf("evidence of %q is verified as %q (%s)", want, got, response.GetRefused().GetReason())
	}
	if !b.offers(providerpb.BatchService) {
		return nil
	}
	// For a host of a batch it isn't known beforehand which member it is.
	request.InstanceId, request.Key = "", ""
	if response, err = b.verify(ctx, request); err != nil {
		return err
	}
	if got := response.GetVerified().GetInstanceId(); got != want {
		return fmt.Errorf("evidence of %q is verified as %q (%s) where the host may be any of a batch", want, got,
			response.GetRefused().GetReason())
	}
	return nil
}

func evidenceForged(ctx context.Context, b *bench) error {
	genuine, err := b.evidence()
	if err != nil {
		return err
	}
	forged := func(what string, change func(*providerpb.VerifyRequest)) error {
		request := proto.CloneOf(genuine)
		change(request)
		return b.refuses(ctx, what, request)
	}
	// One byte of every stretch of the document.
	size := len(genuine.GetDocument())
	for at := size / 32; at < size; at += max(1, size/16) {
		what := fmt.Sprintf("evidence whose document has another byte %d", at)
		if err := forged(what, func(r *providerpb.VerifyRequest) { r.Document[at] ^= 1 }); err != nil {
			return err
		}
	}
	if len(genuine.GetSignature()) == 0 {
		return nil // the document carries its own
	}
	noise := make([]byte, len(genuine.GetSignature()))
	if _, err := io.ReadFull(b.options.Random, noise); err != nil {
		return fmt.Errorf("make noise: %w", err)
	}
	for what, signature := range map[string][]byte{"no": nil, "half a": genuine.GetSignature()[:len(noise)/2],
		"a made-up": noise} {
		if err := forged("evidence with "+what+" signature", func(r *providerpb.VerifyRequest) {
			r.Signature = signature
		}); err != nil {
			return err
		}
	}
	return nil
}

func evidenceOfAnother(ctx context.Context, b *bench) error {
	request, err := b.evidence()
	if err != nil {
		return err
	}
	request.InstanceId += "0"
	return b.refuses(ctx, "evidence of another instance", request)
}
