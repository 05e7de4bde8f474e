package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// What the infrastructure can vouch for, for Plugin.Attestations and Resource.Attested.
const (
	AttestKVM          = providerpb.AttestKVM          // runs virtual machines of its own in hardware
	AttestGPU          = providerpb.AttestGPU          // has a graphics processor
	AttestSigning      = providerpb.AttestSigning      // may hold signing keys
	AttestConfidential = providerpb.AttestConfidential // hides its memory from the infrastructure
)

// AttestWords are all of these words.
func AttestWords() []string { return []string{AttestKVM, AttestGPU, AttestSigning, AttestConfidential} }

// Unattestable is an attestation that the instances of a block can't have.
type Unattestable struct {
	// Attestation is one of Plugin.Attestations.
	Attestation string
	// Reason is one line for a person: "m7i.large isn't a metal type".
	Reason string
	// Path is the attribute of the instance block that decides it; empty: the block.
	Path Path
}

// checkAttestations holds the declaration against itself.
func (p Plugin[C, I]) checkAttestations() error {
	known := AttestWords()
	for n, word := range p.Attestations {
		if !slices.Contains(known, word) || slices.Contains(p.Attestations[:n], word) {
			return fmt.Errorf("field Attestations has %q; each of kvm, gpu, signing and confidential once at most", word)
		}
	}
	if p.Unattestable != nil && len(p.Attestations) == 0 {
		return errors.New("field Unattestable is set, and Attestations is empty: there is nothing that a block can lack")
	}
	return nil
}

// attestationsServer speaks the wire of the service Attestations for a plugin.
type attestationsServer[C, I any] struct {
	providerpb.UnimplementedAttestationsServer
	server *server[C, I]
}

// Attestable asks the author's function about blocks that are good. Of others nothing is
// said: Validate complains about them.
func (a attestationsServer[C, I]) Attestable(
	_ context.Context, request *providerpb.AttestableRequest,
) (*providerpb.AttestableResponse, error) {
	config, found := decodeBlock[C](a.server.blocks.config, request.GetProviderJson())
	if hasErrors(found) {
		return nil, statusError(codes.InvalidArgument, &Error{Class: Invalid, Err: errors.New("the provider block is bad")})
	}
	response := &providerpb.AttestableResponse{Fleets: map[string]*providerpb.Attestable{}}
	for name, body := range request.GetInstanceJson() {
		instance, wrong := decodeBlock[I](a.server.blocks.instance, body)
		if hasErrors(wrong) {
			continue
		}
		answer := &providerpb.Attestable{}
		for _, lacks := range a.server.plugin.Unattestable(config, instance) {
			answer.Missing = append(answer.Missing, &providerpb.Unattestable{
				Attestation: lacks.Attestation, Reason: lacks.Reason, Path: pathToWire(lacks.Path),
			})
		}
		response.Fleets[name] = answer
	}
	return response, nil
}
