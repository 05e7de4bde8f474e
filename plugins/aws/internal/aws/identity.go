package aws

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/identity"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// apart is how far the start that a document names may be from the one that the API
// shows. Both are of the vendor's clocks, and of one start.
const apart = 5 * time.Minute

// VerifyIdentity verifies the identity document of a host: by the region's signature,
// and then by what the account has. Without a valid signature no call is made.
func (p *cloud) VerifyIdentity(ctx context.Context, evidence provider.Evidence) (provider.Identity, error) {
	var none provider.Identity
	signed, err := identity.Read(evidence)
	if err != nil {
		return none, err
	}
	switch {
	case p.certificate == nil:
		return none,
			fmt.Errorf("no identity can be verified: write the region's certificate as %s into the provider block",
				settings.CertificateName)
	case p.now().After(p.certificate.NotAfter):
		return none,
			fmt.Errorf("no identity can be verified: the certificate in %s ended on %s; write the region's new one",
				settings.CertificateName, p.certificate.NotAfter.UTC().Format(time.DateOnly))
	}
	document, err := signed.Verify(p.certificate)
	if err != nil {
		return none, err
	}
	region := p.api.Options().Region
	switch {
	case document.Account != p.account:
		return none,
			provider.RefuseIdentity(provider.OtherAccount, "the document is of account %s, and the provider reaches %s",
				document.Account, p.account)
	case document.Region != region:
		return none,
			provider.RefuseIdentity(provider.OtherRegion, "the document is of %s, and the provider reaches %s", document.Region,
				region)
	case evidence.Instance != "" && document.Instance != evidence.Instance:
		return none,
			provider.RefuseIdentity(provider.OtherInstance, "the document is of %s, and the host must be %s", document.Instance,
				evidence.Instance)
	}
	if err := p.vouch(ctx, document, evidence.Key); err != nil {
		return none, err
	}
	return provider.Identity{Instance: document.Instance, Account: document.Account, Region: document.Region,
		Image: document.Image, Issued: document.Pending}, nil
}

// vouch holds a genuine document against the instance that it is of: a document
// stays genuine for ever, and says nothing of whose the instance is.
func (p *cloud) vouch(ctx context.Context, document identity.Document, key string) error {
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{document.Instance}})
	if err == nil && len(seen) == 0 || strings.HasSuffix(codeOf(err), notFound) {
		return fmt.Errorf("the API doesn't show %s: it is too young to be shown, or gone", document.Instance)
	}
	if err != nil {
		return err
	}
	one := seen[0]
	l := labelsOf(one)
	other := func(why string, arguments ...any) error {
		return provider.RefuseIdentity(provider.OtherInstance, document.Instance+" "+why, arguments...)
	}
	switch state := stateOf(one); {
	case state != types.InstanceStateNamePending && state != types.InstanceStateNameRunning:
		return other("is %s, and no host of it is there to enroll", state)
	case l.installation() != p.installation:
		return other("isn't an instance of the installation %q", p.installation)
	case key != "" && l.key() != key:
		return other("is the instance of the key %q, not of %q", l.key(), key)
	case copied(one):
		return other("is a copy of the instance of %s, launched by somebody else with its tags", l.key())
	}
	if started := sdk.ToTime(one.LaunchTime); document.Pending.Sub(started).Abs() > apart {
		return provider.RefuseIdentity(provider.StaleEvidence, "the document is of the start at %s, and %s was started at %s",
			document.Pending.UTC().Format(time.RFC3339), document.Instance, started.UTC().Format(time.RFC3339))
	}
	return nil
}
