package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Each list is complete or an error: a page that fails is never left out.

func (p *cloud) instances(ctx context.Context, input *ec2.DescribeInstancesInput) ([]types.Instance, error) {
	var all []types.Instance
	for pages := ec2.NewDescribeInstancesPaginator(p.api, input); pages.HasMorePages(); {
		if err := p.limits.describing.Take(ctx); err != nil {
			return nil, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed(err, "list instances")
		}
		for _, reservation := range page.Reservations {
			all = append(all, reservation.Instances...)
		}
	}
	return all, nil
}

func (p *cloud) volumes(ctx context.Context, input *ec2.DescribeVolumesInput) ([]types.Volume, error) {
	var all []types.Volume
	for pages := ec2.NewDescribeVolumesPaginator(p.api, input); pages.HasMorePages(); {
		if err := p.limits.describing.Take(ctx); err != nil {
			return nil, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed(err, "list volumes")
		}
		all = append(all, page.Volumes...)
	}
	return all, nil
}

func (p *cloud) interfaces(ctx context.Context, input *ec2.DescribeNetworkInterfacesInput) ([]types.NetworkInterface, error) {
	var all []types.NetworkInterface
	for pages := ec2.NewDescribeNetworkInterfacesPaginator(p.api, input); pages.HasMorePages(); {
		if err := p.limits.describing.Take(ctx); err != nil {
			return nil, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed(err, "list network interfaces")
		}
		all = append(all, page.NetworkInterfaces...)
	}
	return all, nil
}

func (p *cloud) spotRequests(ctx context.Context, input *ec2.DescribeSpotInstanceRequestsInput) ([]types.SpotInstanceRequest, error) {
	var all []types.SpotInstanceRequest
	for pages := ec2.NewDescribeSpotInstanceRequestsPaginator(p.api, input); pages.HasMorePages(); {
		if err := p.limits.describing.Take(ctx); err != nil {
			return nil, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed(err, "list spot requests")
		}
		all = append(all, page.SpotInstanceRequests...)
	}
	return all, nil
}

// failed is the failure of a question.
func (p *cloud) failed(err error, doing string, arguments ...any) error {
	detailed := classified(err, doing, arguments...)
	if detailed.RetryAfter > 0 {
		p.limits.describing.Empty()
	}
	return detailed
}
