package aws

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/identity"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/policy"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/rate"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// listSettle is how long the lists may miss what was made. The vendor promises no
// bound ("eventual consistency"); most are seconds.
const listSettle = time.Minute

// parallel calls are under way at once; the rate limit is what bounds them.
const parallel = 16

// cloud is one account in one region.
type cloud struct {
	installation string
	account      string
	certificate  *x509.Certificate // of the region; nil: no identity can be verified
	api          *ec2.Client
	queue        *queue // nil: none
	prices       *prices
	quotas       *quotas
	limits       limits
	recent       *recent
	claims       *claims
	logger       *slog.Logger
	now          func() time.Time

	mutex     sync.Mutex
	subnets   map[string]string // by id: the zone
	images    map[string]bootImage
	templates map[settings.LaunchTemplate]*launchTemplate // no version changes
}

// limits are the vendor's published buckets, by family of calls.
type limits struct{ launching, instances, describing, mutating, reading *rate.Bucket }

func newLimits() limits {
	return limits{
		launching: rate.NewBucket(5, 2), instances: rate.NewBucket(1000, 2), describing: rate.NewBucket(100, 20),
		mutating: rate.NewBucket(50, 5),
		reading:  rate.NewBucket(20, 5), // queues, prices and quotas have no published bucket: a bound for our own sake
	}
}

// launch waits until a call for so many machines may go out: calls have a bucket, and
// the machines that they make another.
func (l limits) launch(ctx context.Context, machines int) error {
	if err := l.launching.Take(ctx); err != nil {
		return err
	}
	for range machines {
		if err := l.instances.Take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// surroundings are what a test puts in place of the network and the clock.
type surroundings struct {
	transport http.RoundTripper // nil: the network
	now       func() time.Time
}

// Plugin is the plugin for Serve.
func Plugin(version string) provider.Plugin[settings.Config, settings.Instance] {
	return plugin(version, surroundings{now: time.Now})
}

func plugin(version string, around surroundings) provider.Plugin[settings.Config, settings.Instance] {
	return provider.Plugin[settings.Config, settings.Instance]{
		Name: "aws", Version: version, New: around.newCloud,
		Idempotency: provider.IdempotentNative, Ownership: provider.OwnershipSigned,
		ListSettle: listSettle, Parallel: parallel, Market: true, Events: true, Checks: true,
		Identity: true, IdentityNeeds: settings.CertificateName, Policy: policy.Document,
		Batches: true, MaxBatch: mostMembers,
		Attestations: []string{provider.AttestKVM}, Unattestable: unattestable,
	}
}

// newCloud finds the credentials and whose they are.
func (s surroundings) newCloud(ctx context.Context, c settings.Config, environment provider.Environment) (
	provider.Provider[settings.Instance], error) {
	loaded, err := s.load(ctx, c)
	if err != nil {
		return nil, provider.Diagnostic{Summary: "The credentials can't be set up",
			Detail: err.Error() +
				". The plugin sees the variables that env in required_plugins names, and the shared configuration files."}
	}
	p := &cloud{
		installation: environment.Installation, api: ec2.NewFromConfig(loaded), limits: newLimits(),
		recent: newRecent(s.now), claims: newClaims(s.now),
		prices: newPrices(loaded, c.Region, s.now), quotas: newQuotas(loaded, s.now),
		logger: environment.Logger, now: s.now, subnets: map[string]string{}, images: map[string]bootImage{},
		templates: map[settings.LaunchTemplate]*launchTemplate{},
	}
	caller, err := sts.NewFromConfig(loaded).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, classified(err, "ask whose the credentials are")
	}
	p.account = sdk.ToString(caller.Account)
	environment.SetAccount(fmt.Sprintf("account %s in %s", p.account, c.Region))
	if p.queue, err = s.queueOf(ctx, loaded, c); err != nil {
		return nil, err
	}
	if c.Certificate == "" {
		return p, nil
	}
	if p.certificate, err = identity.Certificate(c.Certificate); err != nil { // checked with the block
		return nil, fmt.Errorf("read the certificate of %s: %w", c.Region, err)
	}
	return p, nil
}

// queueOf is the queue of the provider block, looked at once; nil: it names none.
func (s surroundings) queueOf(ctx context.Context, loaded sdk.Config, c settings.Config) (*queue, error) {
	if c.Queue == "" {
		return nil, nil
	}
	q := &queue{url: c.Queue, patient: c.CallTimeout, api: sqs.NewFromConfig(loaded, func(o *sqs.Options) {
		o.HTTPClient = s.client(longPoll + c.CallTimeout)
	})}
	return q, q.check(ctx)
}

// load is the SDK's configuration. The SDK retries nothing: a request whose answer
// is lost is for the host to decide, and one that is throttled the host's to delay.
func (s surroundings) load(ctx context.Context, c settings.Config) (sdk.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(c.Region), config.WithHTTPClient(s.client(c.CallTimeout)),
		config.WithRetryer(func() sdk.Retryer { return sdk.NopRetryer{} }),
	}
	if c.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.Profile))
	}
	if c.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(c.Endpoint))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return sdk.Config{}, fmt.Errorf("read the configuration of the SDK: %w", err)
	}
	if role := c.AssumeRole; role != nil {
		assumed := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(loaded), role.RoleARN,
			func(o *stscreds.AssumeRoleOptions) {
				o.RoleSessionName = role.SessionName
				if role.ExternalID != "" {
					o.ExternalID = &role.ExternalID
				}
			})
		loaded.Credentials = sdk.NewCredentialsCache(assumed)
	}
	return loaded, nil
}

// client is one for calls of this length.
func (s surroundings) client(patience time.Duration) sdk.HTTPClient {
	if s.transport != nil {
		return &http.Client{Timeout: patience, Transport: s.transport}
	}
	return awshttp.NewBuildableClient().WithTimeout(patience)
}
