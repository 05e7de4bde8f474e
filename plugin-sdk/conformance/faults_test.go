package conformance_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

type (
	plugin  = provider.Plugin[config, instance]
	service = providerpb.ProviderServer
	request = provider.ProvisionRequest[instance]
)

// fault is a provider that is honest but for one thing, which breaks one rule.
type fault struct {
	rule, wrong string
	// leaves: what it leaves behind is told by the last rule, too.
	leaves bool
	// hosts: it is the provider of an inventory.
	hosts bool
	// plugin changes what it says of itself.
	plugin func(*plugin)
	// provider changes what its methods do.
	provider func(honest) provider.Provider[instance]
	// service changes what goes over the wire.
	service func(service, *account) service
	// batches changes what is answered to batches.
	batches func(providerpb.BatchProvisionerServer, *account) providerpb.BatchProvisionerServer
	// verdict changes what is answered to evidence; not nil: the infrastructure signs.
	verdict func(*providerpb.VerifyRequest, *providerpb.VerifyResponse)
}

// Changes of single methods.
type (
	inspects struct {
		honest
		do func(honest) ([]provider.Resource, error)
	}
	provisions struct {
		honest
		do func(context.Context, honest, request) (provider.Resource, error)
	}
	terminates struct {
		honest
		do func(honest, provider.Ref) (provider.TerminateState, error)
	}
)

func (p inspects) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		all, err := p.do(p.honest)
		for _, resource := range all {
			if !yield(resource, nil) {
				return
			}
		}
		if err != nil {
			yield(provider.Resource{}, err)
		}
	}
}

func (p provisions) Provision(ctx context.Context, r request) (provider.Resource, error) {
	return p.do(ctx, p.honest, r)
}

func (p terminates) Terminate(_ context.Context, ref provider.Ref) (provider.TerminateState, error) {
	return p.do(p.honest, ref)
}

func inspecting(do func(honest) ([]provider.Resource, error)) func(honest) provider.Provider[instance] {
	return func(h honest) provider.Provider[instance] { return inspects{h, do} }
}

func provisioning(
	do func(context.Context, honest, request) (provider.Resource, error)) func(honest) provider.Provider[instance] {
	return func(h honest) provider.Provider[instance] { return provisions{h, do} }
}

func terminating(
	do func(honest, provider.Ref) (provider.TerminateState, error)) func(honest) provider.Provider[instance] {
	return func(h honest) provider.Provider[instance] { return terminates{h, do} }
}

var faults = []fault{
	{rule: "schema-valid", wrong: "two attributes have one name", service: func(s service, _ *account) service {
		return describes{s, func(info *providerpb.GetInfoResponse) {
			info.InstanceSchema.Attributes = append(info.InstanceSchema.Attributes, info.InstanceSchema.Attributes[0])
		}}
	}},
	{rule: "schema-documented", wrong: "an attribute says nothing of itself",
		service: func(s service, _ *account) service {
			return describes{s, func(info *providerpb.GetInfoResponse) {
				info.ProviderSchema.Blocks[0].Schema.Attributes[0].Doc = " "
			}}
		}},
	{rule: "levels-declared", wrong: "it says nothing about ownership", plugin: func(p *plugin) { p.Ownership = 0 }},
	{rule: "services-named", wrong: "a service has no name", service: func(s service, _ *account) service {
		return describes{s, func(info *providerpb.GetInfoResponse) { info.Services = []string{""} }}
	}},
	{rule: "joined-by-a-person", wrong: "people shall join what it makes", plugin: func(p *plugin) { p.Joined = true }},
	{rule: "validate-offline", wrong: "it can't validate before it is configured",
		service: func(s service, _ *account) service {
			return &eager{ProviderServer: s}
		}},
	{rule: "bad-blocks-refused", wrong: "it takes every block", service: func(s service, _ *account) service {
		return validating{s, func(*providerpb.Diagnostic) bool { return false }}
	}},
	{rule: "error-paths-exist", wrong: "its complaints are about something that isn't there",
		service: func(s service, _ *account) service {
			return validating{s, func(d *providerpb.Diagnostic) bool {
				d.Path = []*providerpb.Diagnostic_Step{{Step: &providerpb.Diagnostic_Step_Name{Name: "colour"}}}
				return true
			}}
		}},
	{rule: "list-before-configure", wrong: "without an account it lists nothing",
		service: func(s service, _ *account) service {
			return &unready{ProviderServer: s}
		}},
	{rule: "configures", wrong: "it takes no provider block", plugin: func(p *plugin) {
		p.New = func(context.Context, config, provider.Environment) (provider.Provider[instance], error) {
			return nil, errors.New("no")
		}
	}},
	{rule: "list-consistent", wrong: "while it has nothing, it expects whatever it is asked for",
		service: func(s service, a *account) service {
			return obliging{s, a}
		}},
	{rule: "incomplete-list", wrong: "an outage looks like an empty account",
		provider: inspecting(func(h honest) ([]provider.Resource, error) {
			all, _ := h.list()
			return all, nil
		})},
	{rule: "offers-good", wrong: "it lists an offer twice", plugin: sells, provider: selling(
		func() []provider.Offer { return []provider.Offer{offerIn("a"), offerIn("b"), offerIn("a")} })},
	{rule: "offer-used", wrong: "it makes what it likes", plugin: sells,
		provider: func(h honest) provider.Provider[instance] {
			return stubborn{marketed{h, twoOffers}}
		}},
	{rule: "echoes", wrong: "it forgets what the digest was",
		provider: provisioning(func(ctx context.Context, h honest, r request) (provider.Resource, error) {
			r.InstanceDigest = r.InstanceDigest[:40]
			return h.Provision(ctx, r)
		})},
	{rule: "several-listed", wrong: "without keys it reads one page",
		provider: func(h honest) provider.Provider[instance] {
			return onePage{h}
		}},
	{rule: "attestations-offline", wrong: "it rules out what it never attests", plugin: func(p *plugin) {
		p.Attestations = []string{provider.AttestKVM}
		p.Unattestable = func(config, instance) []provider.Unattestable {
			return []provider.Unattestable{{Attestation: provider.AttestGPU, Reason: "none"}}
		}
	}},
	{rule: "attested-declared", wrong: "it attests what it doesn't declare",
		provider: inspecting(func(h honest) ([]provider.Resource, error) {
			all, err := h.list()
			for n := range all {
				all[n].Attested = []string{provider.AttestGPU}
			}
			return all, err
		})},
	{rule: "foreign-unlisted", wrong: "it lists whatever there is",
		provider: inspecting(func(h honest) ([]provider.Resource, error) { return h.account.list() })},
	{rule: "terminate-unknown", wrong: "it can't remove what it doesn't know",
		provider: terminating(func(h honest, ref provider.Ref) (provider.TerminateState, error) {
			if ref.ID == "" && len(h.find(ref.Key)) == 0 {
				return provider.TerminateUnknown, errors.New("key not found")
			}
			return h.Terminate(context.Background(), ref)
		})},
	{rule: "creates", wrong: "it says that it made something, and didn't",
		provider: provisioning(func(_ context.Context, h honest, r request) (provider.Resource, error) {
			return provider.Resource{ID: "i-" + r.Key, State: provider.Running}, nil
		})},
	{rule: "same-key-in-sequence", wrong: "it looks for what the key made among what is pending", provider: hasty},
	{rule: "same-key-at-once", wrong: "it looks up the key, then creates, and two do so at once",
		service: func(s service, a *account) service {
			return &racing{ProviderServer: s, account: a, busy: map[string]bool{}}
		}},
	{rule: "every-item-answered", wrong: "of a batch it reports only the first instance",
		service: func(s service, _ *account) service {
			return terse{s}
		}},
	{rule: "tags-unchanged", wrong: "it shortens tags",
		provider: provisioning(func(ctx context.Context, h honest, r request) (provider.Resource, error) {
			r.Tags = maps.Clone(r.Tags)
			r.Tags["forgeyard-image"] = r.Tags["forgeyard-image"][:40]
			return h.Provision(ctx, r)
		})},
	{rule: "id-stays", wrong: "the list has other ids than the answer",
		provider: provisioning(func(ctx context.Context, h honest, r request) (provider.Resource, error) {
			made, err := h.Provision(ctx, r)
			made.ID = "name-" + made.ID
			return made, err
		})},
	{rule: "assets-listed", wrong: "it lists no host that is free", hosts: true,
		provider: inspecting(func(h honest) ([]provider.Resource, error) {
			all, err := h.list()
			var taken []provider.Resource
			for _, resource := range all {
				if resource.Key != "" {
					taken = append(taken, resource)
				}
			}
			return taken, err
		})},
	{rule: "asset-held", wrong: "the last key that asks gets the host", hosts: true,
		provider: provisioning(func(ctx context.Context, h honest, r request) (provider.Resource, error) {
			if _, err := h.claim(r); err == nil {
				return h.claim(r)
			}
			host := h.resources[r.Asset]
			host.Existed = true
			host.Key = r.Key
			return host, nil
		})},
	{rule: "survives-restart", wrong: "it keeps the tags in its own memory", provider: forgetful},
	{rule: "cut-after-request", leaves: true, wrong: "it tags what it made a moment later",
		provider: provisioning(func(_ context.Context, h honest, r request) (provider.Resource, error) {
			if found := h.find(r.Key); len(found) > 0 {
				found[0].Existed = true
				return found[0], nil
			}
			key := r.Key
			r.Key = ""
			made := h.add(r)
			select {
			case <-h.lifetime.Done():
				return provider.Resource{}, h.lifetime.Err()
			case <-time.After(30 * time.Millisecond):
			}
			h.change(made.ID, func(resource *provider.Resource) { resource.Key = key })
			made.Key = key
			return made, nil
		})},
	{rule: "cancel-in-mid-batch", leaves: true, wrong: "it makes up for what was given up",
		service: func(s service, a *account) service {
			return resentful{s, a}
		}},
	{rule: "drain-in-mid-batch", wrong: "it ignores Drain", service: func(s service, _ *account) service {
		return ignoresDrain{s}
	}},
	{rule: "terminate-other-key", wrong: "it removes an id whatever the key",
		provider: terminating(func(h honest, ref provider.Ref) (provider.TerminateState, error) {
			if ref.ID != "" {
				ref.Key = ""
			}
			return h.Terminate(context.Background(), ref)
		})},
	{rule: "gone-is-gone", wrong: "it says GONE when the removal has begun",
		provider: terminating(func(h honest, ref provider.Ref) (provider.TerminateState, error) {
			for _, resource := range h.find(ref.Key) {
				if ref.ID == "" || ref.ID == resource.ID {
					time.AfterFunc(50*time.Millisecond, func() { h.drop(resource.ID) })
					return provider.Gone, nil
				}
			}
			return h.Terminate(context.Background(), ref)
		})},
	{rule: "terminate-twice", wrong: "it can't remove what it has removed",
		provider: terminating(func(h honest, ref provider.Ref) (provider.TerminateState, error) {
			h.mutex.Lock()
			ended := h.ended[ref.ID]
			h.mutex.Unlock()
			if ended {
				return provider.TerminateUnknown, errors.New("id not found")
			}
			return h.Terminate(context.Background(), ref)
		})},
	{rule: "nothing-left", wrong: "the disk stays when the instance goes",
		provider: provisioning(func(ctx context.Context, h honest, r request) (provider.Resource, error) {
			made, err := h.Provision(ctx, r)
			if err == nil && !made.Existed {
				h.mutex.Lock()
				h.resources["disk of "+made.ID] = provider.Resource{ID: "disk of " + made.ID, Kind: "volume", BelongsTo: made.ID,
					Tags: map[string]string{}}
				h.mutex.Unlock()
			}
			return made, err
		})},
	{rule: "secrets-unlogged", wrong: "it logs the token", plugin: func(p *plugin) {
		build := p.New
		p.New = func(ctx context.Context, c config, environment provider.Environment) (provider.Provider[instance], error) {
			environment.Logger.Info("log in", "password", c.Password)
			return build(ctx, c, environment)
		}
	}},
}

// onePage reads the first two of a whole list.
type onePage struct{ honest }

func (p onePage) Inspect(ctx context.Context, q provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		n := 0
		for resource, err := range p.honest.Inspect(ctx, q) {
			if n++; n > 2 && len(q.Keys) == 0 || !yield(resource, err) {
				return
			}
		}
	}
}

// hasty overlooks an instance that runs already: the first look makes it so.
func hasty(h honest) provider.Provider[instance] {
	make := func(ctx context.Context, h honest, r request) (provider.Resource, error) {
		for _, found := range h.find(r.Key) {
			if found.State == provider.Pending {
				found.Existed = true
				return found, nil
			}
		}
		made := h.add(r)
		h.change(made.ID, func(resource *provider.Resource) { resource.State = provider.Pending })
		return made, nil
	}
	list := func(h honest) ([]provider.Resource, error) {
		all, err := h.list()
		for _, one := range all {
			h.change(one.ID, func(resource *provider.Resource) { resource.State = provider.Running })
		}
		return all, err
	}
	return struct {
		provisioner
		inspects
	}{provisions{h, make}, inspects{h, list}}
}

// forgetful strips the tags off what it stores, and remembers them by itself.
func forgetful(h honest) provider.Provider[instance] {
	var mutex sync.Mutex
	tags := map[string]map[string]string{}
	make := func(ctx context.Context, h honest, r request) (provider.Resource, error) {
		mutex.Lock()
		tags[r.Key] = r.Tags
		mutex.Unlock()
		r.Tags = nil
		return h.Provision(ctx, r)
	}
	list := func(h honest) ([]provider.Resource, error) {
		all, err := h.list()
		mutex.Lock()
		defer mutex.Unlock()
		for i := range all {
			all[i].Tags = tags[all[i].Key]
		}
		return all, err
	}
	return struct {
		provisioner
		inspects
	}{provisions{h, make}, inspects{h, list}}
}

type provisioner interface {
	Provision(context.Context, request) (provider.Resource, error)
}

// What follows changes the wire.

type describes struct {
	service
	change func(*providerpb.GetInfoResponse)
}

func (d describes) GetInfo(ctx context.Context, r *providerpb.GetInfoRequest) (*providerpb.GetInfoResponse, error) {
	info, err := d.service.GetInfo(ctx, r)
	d.change(info)
	return info, err
}

type validating struct {
	service
	keep func(*providerpb.Diagnostic) bool
}

func (j validating) Validate(ctx context.Context, r *providerpb.ValidateRequest) (*providerpb.ValidateResponse, error) {
	response, err := j.service.Validate(ctx, r)
	filter := func(all []*providerpb.Diagnostic) (kept []*providerpb.Diagnostic) {
		for _, one := range all {
			if j.keep(one) {
				kept = append(kept, one)
			}
		}
		return kept
	}
	response.Provider = filter(response.Provider)
	for _, list := range response.Instances {
		list.Items = filter(list.Items)
	}
	return response, err
}

// configuredService notices Configure.
type configuredService struct {
	mutex sync.Mutex
	done  bool
}

func (c *configuredService) is() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.done
}

func (c *configuredService) set() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.done = true
}

type eager struct {
	providerpb.ProviderServer
	configuredService
}

func (e *eager) Configure(ctx context.Context, r *providerpb.ConfigureRequest) (*providerpb.ConfigureResponse, error) {
	e.set()
	return e.ProviderServer.Configure(ctx, r)
}

func (e *eager) Validate(ctx context.Context, r *providerpb.ValidateRequest) (*providerpb.ValidateResponse, error) {
	if !e.is() {
		return nil, errors.New("configure me first")
	}
	return e.ProviderServer.Validate(ctx, r)
}

type unready struct {
	providerpb.ProviderServer
	configuredService
}

func (u *unready) Configure(
	ctx context.Context, r *providerpb.ConfigureRequest,
) (*providerpb.ConfigureResponse, error) {
	u.set()
	return u.ProviderServer.Configure(ctx, r)
}

func (u *unready) Inspect(r *providerpb.InspectRequest,
	stream grpc.ServerStreamingServer[providerpb.InspectResponse]) error {
	if !u.is() {
		return nil
	}
	return u.ProviderServer.Inspect(r, stream)
}

// obliging expects a key that was never sent, while the account is empty.
type obliging struct {
	service
	*account
}

type obligingStream struct {
	grpc.ServerStreamingServer[providerpb.InspectResponse]
}

func (o obliging) Inspect(r *providerpb.InspectRequest,
	stream grpc.ServerStreamingServer[providerpb.InspectResponse]) error {
	if all, err := o.list(); err != nil || len(all) > 0 {
		return o.service.Inspect(r, stream)
	}
	return o.service.Inspect(r, obligingStream{stream})
}

func (s obligingStream) Send(page *providerpb.InspectResponse) error {
	page.InFlightKeys, page.AbsentKeys = append(page.InFlightKeys, page.AbsentKeys...), nil
	return s.ServerStreamingServer.Send(page)
}

// racing has no call that a second one for the same key would join.
type racing struct {
	providerpb.ProviderServer
	*account
	mutex sync.Mutex
	busy  map[string]bool
}

func (r *racing) Provision(req *providerpb.ProvisionRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse]) error {
	key := req.Items[0].Key
	r.mutex.Lock()
	second := r.busy[key]
	r.busy[key] = true
	r.mutex.Unlock()
	if second {
		made := r.add(request{Key: key, Tags: req.Items[0].Tags})
		return stream.Send(&providerpb.ProvisionResponse{
			Key: key, Outcome: providerpb.ProvisionResponse_OUTCOME_CREATED,
			Resource: &providerpb.Resource{Id: made.ID, Key: key},
		})
	}
	defer func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		delete(r.busy, key)
	}()
	return r.ProviderServer.Provision(req, stream)
}

// terse reports only the first instance of a batch.
type terse struct{ service }

type terseStream struct {
	grpc.ServerStreamingServer[providerpb.ProvisionResponse]
	first string
}

func (t terse) Provision(r *providerpb.ProvisionRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse]) error {
	return t.service.Provision(r, terseStream{stream, r.Items[0].Key})
}

func (s terseStream) Send(answer *providerpb.ProvisionResponse) error {
	if answer.Key != s.first && answer.Resource != nil {
		return nil
	}
	return s.ServerStreamingServer.Send(answer)
}

// resentful makes one more, under no key, for a batch that was given up.
type resentful struct {
	service
	*account
}

func (s resentful) Provision(r *providerpb.ProvisionRequest,
	stream grpc.ServerStreamingServer[providerpb.ProvisionResponse]) error {
	if len(r.Items) == 1 {
		return s.service.Provision(r, stream)
	}
	first := proto.CloneOf(r)
	first.Items = r.Items[:1]
	rest := proto.CloneOf(r)
	rest.Items = r.Items[1:]
	err := s.service.Provision(first, stream)
	select {
	case <-stream.Context().Done():
		s.add(request{Key: strings.Repeat("0", 26)})
		return stream.Context().Err()
	case <-time.After(100 * time.Millisecond):
	}
	return errors.Join(err, s.service.Provision(rest, stream))
}

// ignoresDrain doesn't pass Drain on.
type ignoresDrain struct{ service }

func (ignoresDrain) Drain(context.Context, *providerpb.DrainRequest) (*providerpb.DrainResponse, error) {
	return &providerpb.DrainResponse{}, nil
}
