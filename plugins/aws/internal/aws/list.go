package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// pager is what the SDK makes of each call that answers in pages.
type pager[P any] interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*ec2.Options)) (P, error)
}

// gather reads a list to its end, each page at the rate of questions. It is complete
// or an error, which says what was being done: a page that fails is never left out.
func gather[P, T any](ctx context.Context, p *cloud, pages pager[P], items func(P) []T, doing string,
	arguments ...any) ([]T, error) {
	var all []T
	for pages.HasMorePages() {
		if err := p.limits.describing.Take(ctx); err != nil {
			return nil, err
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed(err, doing, arguments...)
		}
		all = append(all, items(page)...)
	}
	return all, nil
}

func (p *cloud) instances(ctx context.Context, input *ec2.DescribeInstancesInput) ([]types.Instance, error) {
	return gather(ctx, p, ec2.NewDescribeInstancesPaginator(p.api, input),
		func(page *ec2.DescribeInstancesOutput) []types.Instance {
			var all []types.Instance
			for _, reservation := range page.Reservations {
				all = append(all, reservation.Instances...)
			}
			return all
		}, "list instances")
}

func (p *cloud) volumes(ctx context.Context, input *ec2.DescribeVolumesInput) ([]types.Volume, error) {
	return gather(ctx, p, ec2.NewDescribeVolumesPaginator(p.api, input),
		func(page *ec2.DescribeVolumesOutput) []types.Volume { return page.Volumes }, "list volumes")
}

func (p *cloud) interfaces(
	ctx context.Context, input *ec2.DescribeNetworkInterfacesInput,
) ([]types.NetworkInterface, error) {
	return gather(ctx, p, ec2.NewDescribeNetworkInterfacesPaginator(p.api, input),
		func(page *ec2.DescribeNetworkInterfacesOutput) []types.NetworkInterface {
			return page.NetworkInterfaces
		}, "list network interfaces")
}

func (p *cloud) spotRequests(ctx context.Context, input *ec2.DescribeSpotInstanceRequestsInput) (
	[]types.SpotInstanceRequest, error) {
	return gather(ctx, p, ec2.NewDescribeSpotInstanceRequestsPaginator(p.api, input),
		func(page *ec2.DescribeSpotInstanceRequestsOutput) []types.SpotInstanceRequest {
			return page.SpotInstanceRequests
		}, "list spot requests")
}

// failed is the failure of a question.
func (p *cloud) failed(err error, doing string, arguments ...any) error {
	detailed := classified(err, doing, arguments...)
	if detailed.RetryAfter > 0 {
		p.limits.describing.Empty()
	}
	return detailed
}
