package agent

import (
	"context"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// evidenceReaders ask a platform for a document that it signed about this host.
// Platforms without one have no entry.
var evidenceReaders = map[string]func(context.Context, *metadataClient) (agentapi.Evidence, error){
	"aws": awsEvidence,
}

// evidence is what this host's platform signed about it; nil: it signs nothing, or
// there is no platform. It is asked for anew with every try.
func evidence(ctx context.Context, m *metadataService) (*agentapi.Evidence, error) {
	if m == nil || evidenceReaders[m.Platform] == nil {
		return nil, nil
	}
	found, err := evidenceReaders[m.Platform](ctx, m.http)
	if err != nil {
		return nil, fmt.Errorf("ask %s's metadata service at %s which instance this host is: %w", m.Platform, m.URL, err)
	}
	if n := max(len(found.Document), len(found.Signature)); n > agentapi.MaxEvidenceBytes {
		return nil, fmt.Errorf("what %s's metadata service at %s signed has %d bytes, and %d is the most", m.Platform, m.URL, n, agentapi.MaxEvidenceBytes)
	}
	return &found, nil
}

// awsEvidence is the instance identity document with the signature by the region's
// RSA-2048 certificate, byte for byte as they are served.
func awsEvidence(ctx context.Context, c *metadataClient) (agentapi.Evidence, error) {
	found := agentapi.Evidence{Kind: "aws"}
	for path, into := range map[string]*[]byte{"document": &found.Document, "rsa2048": &found.Signature} {
		content, err := awsWhole(ctx, c, "/latest/dynamic/instance-identity/"+path)
		if err != nil {
			return agentapi.Evidence{}, fmt.Errorf("instance-identity/%s: %w", path, err)
		}
		*into = content
	}
	return found, nil
}
