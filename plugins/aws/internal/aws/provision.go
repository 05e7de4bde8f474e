package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// request is what the host asks for.
type request = provider.ProvisionRequest[settings.Instance]

// largestUserData is what the API takes, in bytes before the encoding.
const largestUserData = 16 << 10

// Provision makes one machine, or finds the one that the key made. The look before
// the create is only for Existed; that there is one and not two is the
// client token's doing.
func (p *cloud) Provision(ctx context.Context, asked request) (provider.Resource, error) {
	existing, err := p.ofKey(ctx, asked.Key)
	if err != nil {
		return provider.Resource{}, err
	}
	if existing != nil {
		found := resourceOf(*existing)
		found.Existed = true
		return found, nil
	}
	input, err := p.launch(ctx, asked)
	if err != nil {
		return provider.Resource{}, p.notMade(asked, classOf(err), err)
	}
	if asked.Instance.OnHost(string(input.InstanceType)) {
		host, err := p.place(ctx, asked, input)
		if err != nil {
			return provider.Resource{}, err
		}
		input.Placement = &types.Placement{Tenancy: types.TenancyHost, HostId: sdk.String(host)}
	}
	return p.run(ctx, asked, input)
}

// run sends the launch.
func (p *cloud) run(ctx context.Context, asked request, input *ec2.RunInstancesInput) (provider.Resource, error) {
	if err := p.limits.launch(ctx, 1); err != nil {
		return provider.Resource{}, p.notMade(asked, provider.RateLimit, err)
	}
	answer, err := p.api.RunInstances(ctx, input)
	if err != nil {
		err = p.notLaunched(asked, err)
		if provider.IsNotCreated(err) && input.Placement != nil && input.Placement.HostId != nil {
			p.giveBack(ctx, *input.Placement.HostId, asked.Key)
		}
		return provider.Resource{}, err
	}
	if len(answer.Instances) != 1 {
		p.recent.doubt(asked.Key)
		return provider.Resource{},
			fmt.Errorf("launch for the key %s: the answer names %d instances, and one was asked for", asked.Key,
				len(answer.Instances))
	}
	made := answer.Instances[0]
	p.recent.create(asked.Key, sdk.ToString(made.InstanceId))
	return resourceOf(made), nil
}

// notLaunched is what a failed launch proves. A refusal proves that this request
// made nothing; that an earlier one of the key didn't, only time does.
func (p *cloud) notLaunched(asked request, err error) error {
	what := classified(err, "launch for the key %s", asked.Key)
	what.Zone, what.MachineType, _ = offerOf(asked)
	if template := asked.Instance.Template; template != nil {
		p.doubtTemplate(*template, what)
	}
	if what.Class == provider.RateLimit {
		p.limits.launching.Empty()
	}
	if !provesNothingMade(err) {
		p.recent.doubt(asked.Key)
		return what
	}
	return p.notMade(asked, what.Class, what)
}

// notMade claims that there is nothing, unless an earlier request of the key may
// still have its effect.
func (p *cloud) notMade(asked request, class provider.Class, err error) error {
	if p.recent.doubtful(asked.Key) {
		return fmt.Errorf("an earlier request of the key %s got no answer; now: %w", asked.Key, err)
	}
	return provider.NotCreated(class, err)
}

func classOf(err error) provider.Class {
	if detailed, ok := errors.AsType[*provider.Error](err); ok && detailed.Class != 0 {
		return detailed.Class
	}
	return provider.Invalid
}

// ofKey finds the machine that the key made, also one that is terminated and still
// shown; nil: none is listed.
func (p *cloud) ofKey(ctx context.Context, key string) (*types.Instance, error) {
	seen, err := p.instances(ctx, &ec2.DescribeInstancesInput{Filters: p.ours(key)})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(seen, func(one types.Instance) bool { return !copied(one) })
	if at < 0 {
		return nil, nil
	}
	return &seen[at], nil
}

// offerOf is where the machine is to be made. Without offers, as a host that has
// asked for none sends it, that is the first type, and any zone.
func offerOf(asked request) (zone, machineType string, spot bool) {
	if len(asked.Offers) == 0 {
		return "", asked.Instance.Types[0], false
	}
	offer := asked.Offers[0]
	return offer.Zone, offer.MachineType, offer.Lifetime == "preemptible"
}

// launch is the call. The same request gives the same bytes, else the API takes a
// repetition for another request with a token that is used.
func (p *cloud) launch(ctx context.Context, asked request) (*ec2.RunInstancesInput, error) {
	if err := settings.CheckImage(asked.Image); err != nil {
		return nil, err
	}
	document, err := userData(asked.Bootstrap)
	if err != nil {
		return nil, err
	}
	zone, machineType, spot := offerOf(asked)
	if !slices.Contains(asked.Instance.Types, machineType) {
		return nil, fmt.Errorf("the offer is of %s, which isn't in instance_types", machineType)
	}
	if spot && asked.Instance.OnHost(machineType) {
		return nil, fmt.Errorf("the offer of %s is of the spot market, and its machines are on dedicated hosts", machineType)
	}
	subnet, err := p.subnetIn(ctx, asked.Instance.Subnets, zone)
	if err != nil {
		return nil, err
	}
	image, err := p.imageOf(ctx, asked.Image)
	if err != nil {
		return nil, err
	}
	if err := image.fits(asked.Image, asked.Platform); err != nil {
		return nil, err
	}
	input := &ec2.RunInstancesInput{
		ClientToken: sdk.String(asked.Key), MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1),
		ImageId: sdk.String(asked.Image), InstanceType: types.InstanceType(machineType),
		UserData:                          sdk.String(document),
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: sdk.Int32(1),
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled,
		},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			DeviceIndex: sdk.Int32(0), SubnetId: sdk.String(subnet), Groups: asked.Instance.Groups,
			AssociatePublicIpAddress: sdk.Bool(asked.Instance.PublicAddress), DeleteOnTermination: sdk.Bool(true),
		}},
		BlockDeviceMappings: []types.BlockDeviceMapping{
			{DeviceName: sdk.String(image.root), Ebs: diskOf(asked.Instance.Root)}},
	}
	if asked.Instance.Template != nil {
		template, err := p.templateOf(ctx, *asked.Instance.Template)
		if err != nil {
			return nil, err
		}
		if err := template.under(input, asked.Instance); err != nil {
			p.forgetTemplate(*asked.Instance.Template)
			return nil, err
		}
	}
	choose(input, asked.Instance, spot)
	input.TagSpecifications = tagSpecifications(written(p.tagsOf(&asked)), spot)
	return input, nil
}

// userData is the first-boot document as the API takes it.
func userData(b bootstrap.Document) (string, error) {
	document, err := bootstrap.Render(b)
	if err != nil {
		return "", err
	}
	if len(document) > largestUserData {
		return "", fmt.Errorf("the bootstrap document has %d bytes, and user data at most %d", len(document),
			largestUserData)
	}
	return encode(document), nil
}

// tagSpecifications puts the tags on everything that a machine is made of.
func tagSpecifications(tags []types.Tag, spot bool) []types.TagSpecification {
	kinds := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume,
		types.ResourceTypeNetworkInterface}
	if spot {
		kinds = append(kinds, types.ResourceTypeSpotInstancesRequest)
	}
	var all []types.TagSpecification
	for _, kind := range kinds {
		all = append(all, types.TagSpecification{ResourceType: kind, Tags: tags})
	}
	return all
}
