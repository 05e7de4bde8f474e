package aws

import (
	"context"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/quota"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// How long quotas are good: they change when a person asks for more.
const (
	quotaFresh, quotaLife = time.Hour, 24 * time.Hour
	usageFresh            = 4 * time.Minute
)

// quotas are how many virtual cpus may run at once, and how many do.
type quotas struct {
	api *servicequotas.Client
	// limits are by code; below zero: the account has none of that code.
	limits *facts[string, float64]
	usage  *facts[struct{}, map[string]int64]
}

func newQuotas(loaded sdk.Config, now func() time.Time) *quotas {
	return &quotas{
		api:    servicequotas.NewFromConfig(loaded),
		limits: newFacts[string, float64](now, quotaFresh, quotaLife),
		// What ran some minutes ago says nothing about what is left.
		usage: newFacts[struct{}, map[string]int64](now, usageFresh, usageFresh),
	}
}

// traded is a type in a market, which a quota is held against.
type traded struct {
	machineType types.InstanceType
	class       types.UsageClassType
}

// allLeft is how many are left of each type in each of its markets.
func (p *cloud) allLeft(ctx context.Context, instance settings.Instance,
	described []types.InstanceTypeInfo) map[traded]*uint32 {
	all := map[traded]*uint32{}
	for _, one := range described {
		for _, class := range one.SupportedUsageClasses {
			all[traded{one.InstanceType, class}] = p.left(ctx, instance, one, class == types.UsageClassTypeSpot)
		}
	}
	return all
}

// left is how many machines of a type the account's quota still lets start; nil: it
// isn't known. What it counts is at most what the vendor counts: "none" must be true.
func (p *cloud) left(ctx context.Context, instance settings.Instance, one types.InstanceTypeInfo, spot bool) *uint32 {
	code := quota.Of(string(one.InstanceType), spot)
	// a reservation is counted already
	if code == "" || one.VCpuInfo == nil || instance.OnHost(string(one.InstanceType)) ||
		instance.Reservation != "" && !spot {
		return nil
	}
	limit, known := p.quotaOf(ctx, code)
	if !known {
		return nil
	}
	used, known := p.cpusInUse(ctx)
	if !known {
		return nil
	}
	left := quota.Left(limit, used[code], int64(sdk.ToInt32(one.VCpuInfo.DefaultVCpus)))
	return &left
}

// quotaOf is the account's quota of a code.
func (p *cloud) quotaOf(ctx context.Context, code string) (limit float64, known bool) {
	limit, fresh, known := p.quotas.limits.get(code)
	if !fresh && p.quotas.limits.mayAsk() {
		asked, err := p.askQuota(ctx, code)
		if err == nil {
			p.quotas.limits.put(code, asked)
			limit, known = asked, true
		} else {
			p.quotas.limits.fail()
			p.logger.Warn("a quota can't be read: offers don't say how many are left", "quota", code, "error", err)
		}
	}
	return limit, known && limit >= 0
}

func (p *cloud) askQuota(ctx context.Context, code string) (float64, error) {
	if err := p.limits.reading.Take(ctx); err != nil {
		return 0, err
	}
	answer, err := p.quotas.api.GetServiceQuota(ctx,
		&servicequotas.GetServiceQuotaInput{ServiceCode: sdk.String("ec2"), QuotaCode: sdk.String(code)})
	switch {
	case codeOf(err) == "NoSuchResourceException":
		return -1, nil
	case err != nil:
		return 0, classified(err, "look up the quota %s", code)
	case answer.Quota == nil || answer.Quota.Value == nil:
		return -1, nil
	}
	return *answer.Quota.Value, nil
}

// cpusInUse counts the virtual cpus of all machines that run in the account, also
// those of others, by the quota that they count against.
func (p *cloud) cpusInUse(ctx context.Context) (map[string]int64, bool) {
	used, fresh, _ := p.quotas.usage.get(struct{}{})
	if fresh || !p.quotas.usage.mayAsk() {
		return used, fresh
	}
	running, err := p.instances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: sdk.String("instance-state-name"),
			Values: []string{string(types.InstanceStateNamePending), string(types.InstanceStateNameRunning)}},
	}})
	if err != nil {
		p.quotas.usage.fail()
		p.logger.Warn("what runs in the account can't be counted: offers don't say how many are left", "error", err)
		return nil, false
	}
	used = map[string]int64{}
	for _, one := range running {
		onHost := one.Placement != nil && one.Placement.Tenancy == types.TenancyHost // its host is what is counted
		code := quota.Of(string(one.InstanceType), one.InstanceLifecycle == types.InstanceLifecycleTypeSpot)
		if code != "" && !onHost && one.CpuOptions != nil {
			used[code] += int64(sdk.ToInt32(one.CpuOptions.CoreCount)) * int64(sdk.ToInt32(one.CpuOptions.ThreadsPerCore))
		}
	}
	p.quotas.usage.put(struct{}{}, used)
	return used, true
}
