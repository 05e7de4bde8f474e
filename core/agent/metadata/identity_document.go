package metadata

import (
	"context"
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// documentReaders ask a platform for a document that it signed about this host.
// Platforms without one have no entry.
var documentReaders = map[string]func(context.Context, *transport) (agentapi.Evidence, error){
	"aws": awsIdentityDocument,
}

// Evidence is what this host's platform signed about it; nil: it signs nothing, or
// there is no platform. It is read again for every attempt to enroll.
func (m *Client) Evidence(ctx context.Context) (*agentapi.Evidence, error) {
	if m == nil || documentReaders[m.Platform] == nil {
		return nil, nil
	}
	found, err := documentReaders[m.Platform](ctx, m.http)
	if err != nil {
		return nil, fmt.Errorf("read the identity document from %s's metadata service at %s: %w", m.Platform, m.URL, err)
	}
	if n := max(len(found.Document), len(found.Signature)); n > agentapi.MaxEvidenceBytes {
		return nil, fmt.Errorf(
			"the identity document of %s's metadata service at %s has %d bytes; at most %d are allowed",
			m.Platform,
			m.URL,
			n,
			agentapi.MaxEvidenceBytes,
		)
	}
	return &found, nil
}

// awsIdentityDocument is the instance identity document with the signature by the region's
// RSA-2048 certificate, byte for byte as they are served.
func awsIdentityDocument(ctx context.Context, c *transport) (agentapi.Evidence, error) {
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
