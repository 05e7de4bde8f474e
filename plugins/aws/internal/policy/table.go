// Package policy writes what the plugin's credentials must be allowed to do: one table
// of actions, which the documentation shows too, and a policy made of it for a provider
// block and its fleets. It knows nothing of the SDK, so that its tests don't compile it.
package policy

// Action is one line of the table.
type Action struct {
	// Name is the action as a policy has it.
	Name string
	// For is what it is needed for, for people.
	For string
	// in are the statements that it is in; none: it isn't in the policy.
	in []string
	// calls are the calls that it is needed for, where they have other names.
	calls []string
	// within says that it is asked for within another call, and is never one itself.
	within bool
}

// The statements of a policy, by their names.
const (
	look       = "Look"
	count      = "CountWhatMayRun"
	priceList  = "ReadThePriceList"
	templates  = "ReadLaunchTemplates"
	launchWith = "LaunchWithTheseNetworks"
	launch     = "LaunchWhatIsTagged"
	tag        = "TagWhatIsLaunched"
	end        = "EndWhatIsTagged"
	onHosts    = "LaunchOnHostsThatAreTagged"
	allocate   = "AllocateHostsThatAreTagged"
	tagHosts   = "TagHostsThatAreAllocated"
	claimHosts = "SayWhoseATaggedHostIs"
	passRole   = "GiveMachinesTheirRole"
	hear       = "HearOfInterruptions"
	encrypt    = "EncryptVolumes"
	grant      = "LetVolumesUseTheKey"
)

// Table has every action that the plugin needs. A test holds it against what the
// plugin calls.
var Table = []Action{
	{Name: "ec2:DescribeInstances", For: "the list of machines, and what runs in the account", in: []string{look}},
	{Name: "ec2:DescribeVolumes", For: "what belongs to machines", in: []string{look}},
	{Name: "ec2:DescribeNetworkInterfaces", For: "what belongs to machines", in: []string{look}},
	{Name: "ec2:DescribeSpotInstanceRequests", For: "what belongs to machines, and which are being taken away",
		in: []string{look}},
	{Name: "ec2:DescribeHosts", For: "what belongs to machines", in: []string{look}},
	{Name: "ec2:DescribeImages", For: "the image's root device and platform", in: []string{look}},
	{Name: "ec2:DescribeSubnets", For: "the zones of the subnets", in: []string{look}},
	{Name: "ec2:DescribeInstanceTypes", For: "offers: what types have", in: []string{look}},
	{Name: "ec2:DescribeInstanceTypeOfferings", For: "offers: where types are", in: []string{look}},
	{Name: "ec2:DescribeLaunchTemplateVersions", For: "`launch_template`: what its version says", in: []string{templates}},
	{Name: "ec2:DescribeSpotPriceHistory", For: "offers: spot prices; without it there are none", in: []string{look}},
	{Name: "servicequotas:GetServiceQuota", For: "offers: quotas; without it they aren't known", in: []string{count}},
	{Name: "pricing:GetProducts", For: "offers: prices on demand; without it there are none", in: []string{priceList}},
	{Name: "ec2:RunInstances", For: "machines, in the block's subnets and security groups",
		in: []string{launchWith, launch, onHosts}},
	{Name: "ec2:AllocateHosts", For: "Macs and the tenancy `host`", in: []string{allocate}},
	{Name: "ec2:CreateTags", For: "the tags of what a launch makes; and, with dedicated hosts, whose one of ours is",
		in: []string{tag, tagHosts, claimHosts}},
	{Name: "ec2:TerminateInstances", For: "removing machines", in: []string{end}},
	{Name: "ec2:DeleteVolume", For: "removing what outlived its machine", in: []string{end}},
	{Name: "ec2:DeleteNetworkInterface", For: "removing what outlived its machine", in: []string{end}},
	{Name: "ec2:CancelSpotInstanceRequests", For: "removing what outlived its machine", in: []string{end}},
	{Name: "ec2:ReleaseHosts", For: "giving dedicated hosts back", in: []string{end}},
	{Name: "iam:PassRole", For: "`instance_profile`: on its role, which is taken to have the profile's name",
		in: []string{passRole}, within: true},
	{Name: "sqs:GetQueueAttributes", For: "`interruption_queue`: whether it is there", in: []string{hear}},
	{Name: "sqs:ReceiveMessage", For: "`interruption_queue`", in: []string{hear}},
	{Name: "sqs:DeleteMessage", For: "`interruption_queue`", in: []string{hear},
		calls: []string{"sqs:DeleteMessageBatch"}},
	{Name: "kms:DescribeKey", For: "`kms_key`", in: []string{encrypt}, within: true},
	{Name: "kms:GenerateDataKeyWithoutPlaintext", For: "`kms_key`", in: []string{encrypt}, within: true},
	{Name: "kms:Decrypt", For: "`kms_key`", in: []string{encrypt}, within: true},
	{Name: "kms:ReEncryptFrom", For: "`kms_key`", in: []string{encrypt}, within: true},
	{Name: "kms:ReEncryptTo", For: "`kms_key`", in: []string{encrypt}, within: true},
	{Name: "kms:CreateGrant", For: "`kms_key`: only for volumes", in: []string{grant}, within: true},
	{Name: "sts:GetCallerIdentity", For: "the account that `plan` shows; it needs no permission"},
	{Name: "sts:AssumeRole",
		For: "`assume_role`: for the credentials that assume the role, and not for the role, whose policy this is"},
	{Name: "sts:AssumeRoleWithWebIdentity",
		For: "web identity; the role's trust policy allows it; it needs no permission"},
}

// Calls are the calls that the table knows: whether a policy has to allow them.
func Calls() map[string]bool {
	known := map[string]bool{}
	for _, action := range Table {
		calls := action.calls
		if calls == nil {
			calls = []string{action.Name}
		}
		for _, call := range calls {
			if !action.within {
				known[call] = len(action.in) > 0
			}
		}
	}
	return known
}
