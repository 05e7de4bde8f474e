package ec2sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheSameTokenWithTheSameParametersGivesTheSameInstance(t *testing.T) {
	c := newCaller(t, Options{})
	first, again := c.launch("ClientToken", "key-1"), c.launch("ClientToken", "key-1")
	if !slices.Equal(first, again) || len(c.simulator.world.instances) != 1 {
		t.Errorf("two launches with one token gave %v and %v", first, again)
	}
	c.wantRefusal("IdempotentParameterMismatch", "RunInstances", launchOne("ClientToken", "key-1", "KeyName", "other")...)
	if other := c.launch("ClientToken", "key-2"); other[0] == first[0] {
		t.Errorf("another token gave the same instance %s", other[0])
	}
}

func TestARefusedLaunchLeavesNothingAndItsTokenIsFree(t *testing.T) {
	c := newCaller(t, Options{})
	market := Market{InstanceType: "c7i.large", Zone: "us-east-1a"}
	c.simulator.SetCapacity(market, 0)
	c.wantRefusal("InsufficientInstanceCapacity", "RunInstances", launchOne("ClientToken", "key-1")...)
	if len(c.simulator.world.instances)+len(c.simulator.world.volumes)+len(c.simulator.world.interfaces) != 0 {
		t.Error("the refused launch left something")
	}
	c.simulator.SetCapacity(market, 1)
	ids := c.launch("ClientToken", "key-1")
	c.wantRefusal("InsufficientInstanceCapacity", "RunInstances", launchOne()...)
	c.launch("SubnetId", "subnet-0a000000000000002") // Another zone has room.
	c.must("TerminateInstances", "InstanceId.1", ids[0])
	c.launch() // What ended makes room.
}

func TestALaunchGivesAsManyAsFitButNotFewerThanTheLeast(t *testing.T) {
	c := newCaller(t, Options{})
	c.simulator.SetQuota(StandardQuota, 7) // Three of two cpus, and one left over.
	ids := c.launch("MinCount", "2", "MaxCount", "10")
	if len(ids) != 3 {
		t.Errorf("%d instances started, want 3", len(ids))
	}
	c.wantRefusal("VcpuLimitExceeded", "RunInstances", launchOne()...)
	c.simulator.SetQuota(StandardSpotQuota, 1)
	c.wantRefusal("MaxSpotInstanceCountExceeded", "RunInstances", launchOne("InstanceMarketOptions.MarketType", "spot")...)
}

func TestWhatALaunchRefuses(t *testing.T) {
	c := newCaller(t, Options{})
	for name, one := range map[string]struct {
		code       string
		parameters []string
	}{
		"an image that isn't there":        {"InvalidAMIID.NotFound", launchOne("ImageId", "ami-0ffffffffffffffff")},
		"an image of another architecture": {"InvalidParameterValue", launchOne("ImageId", "ami-0a000000000000002")},
		"a type that isn't there":          {"InvalidParameterValue", launchOne("InstanceType", "c7i.huge")},
		"a subnet that isn't there":        {"InvalidSubnetID.NotFound", launchOne("SubnetId", "subnet-0f")},
		"a group that isn't there":         {"InvalidGroup.NotFound", launchOne("SecurityGroupId.1", "sg-0f")},
		"a subnet beside a network interface": {"InvalidParameterCombination",
			launchOne("SubnetId", "subnet-0a000000000000001", "NetworkInterface.1.DeviceIndex", "0")},
		"a misspelt parameter": {"UnknownParameter", launchOne("ClientTokn", "key-1")},
		"a token of 65 characters": {"InvalidParameterValue",
			launchOne("ClientToken", strings.Repeat("k", 65))},
		"a root disk smaller than the image": {"InvalidBlockDeviceMapping",
			launchOne("BlockDeviceMapping.1.DeviceName", "/dev/sda1", "BlockDeviceMapping.1.Ebs.VolumeSize", "4")},
		"graphics in a zone that has none": {"Unsupported",
			launchOne("InstanceType", "g5.xlarge", "SubnetId", "subnet-0a000000000000003")},
		"a tag that begins with aws:": {"InvalidParameterValue",
			launchOne("TagSpecification.1.ResourceType", "instance", "TagSpecification.1.Tag.1.Key", "aws:x",
				"TagSpecification.1.Tag.1.Value", "y")},
		"user data that isn't base64": {"InvalidUserData.Malformed", launchOne("UserData", "%%%")},
		"a launch template that isn't there": {"InvalidLaunchTemplateId.NotFound",
			launchOne("LaunchTemplate.LaunchTemplateId", "lt-0f")},
		"a Mac without a host": {"InvalidParameterValue",
			launchOne("InstanceType", "mac2.metal", "ImageId", "ami-0a000000000000003")},
		"a dry run, though it would have worked": {"DryRunOperation", launchOne("DryRun", "true")},
	} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			c.wantRefusal(one.code, "RunInstances", one.parameters...)
		})
	}
	if len(c.simulator.world.instances) != 0 {
		t.Errorf("the refused launches left %d instances", len(c.simulator.world.instances))
	}
}

func TestALaunchTemplateAddsWhatTheRequestDoesNotSay(t *testing.T) {
	c := newCaller(t, Options{})
	c.simulator.AddLaunchTemplate("lt-0a000000000000001", "runners", map[string]string{
		"ImageId": "ami-0a000000000000001", "InstanceType": "m7i.large", "KeyName": "from-template"})
	body := c.must("RunInstances", "LaunchTemplate.LaunchTemplateName", "runners", "InstanceType", "c7i.large",
		"MinCount", "1", "MaxCount", "1")
	if !strings.Contains(body, "from-template") || !strings.Contains(body, "c7i.large") ||
		strings.Contains(body, "m7i.large") {
		t.Errorf("the launch is not the template with the request's type:\n%s", body)
	}
}

func TestLaunchTemplateVersionsAreImmutable(t *testing.T) {
	c := newCaller(t, Options{})
	for _, name := range []string{"first-key", "second-key"} {
		c.simulator.AddLaunchTemplate("lt-0a000000000000001", "runners", map[string]string{"KeyName": name})
	}
	for version, want := range map[string]string{"": "first-key", "$Default": "first-key", "1": "first-key",
		"2": "second-key", "$Latest": "second-key"} {
		body := c.must("RunInstances",
			launchOne("LaunchTemplate.LaunchTemplateId", "lt-0a000000000000001", "LaunchTemplate.Version", version)...)
		if !strings.Contains(body, want) {
			t.Errorf("version %q isn't the one with %s:\n%s", version, want, body)
		}
	}
	c.wantRefusal("InvalidLaunchTemplateId.VersionNotFound", "RunInstances",
		launchOne("LaunchTemplate.LaunchTemplateId", "lt-0a000000000000001", "LaunchTemplate.Version", "3")...)
	c.wantRefusal("InvalidLaunchTemplateName.NotFoundException", "DescribeLaunchTemplateVersions", "LaunchTemplateName",
		"others")
}

func TestANewInstanceIsMissingThenFlapsThenStays(t *testing.T) {
	c := newCaller(t, Options{Delays: Delays{Visible: time.Minute, Flapping: time.Minute}})
	id := c.launch()[0]
	seen := func() int { return len(read(t, c.must("DescribeInstances")).Instances) }
	if seen() != 0 {
		t.Error("the instance is in the list at once")
	}
	c.wantRefusal("InvalidInstanceID.NotFound", "DescribeInstances", "InstanceId.1", id)
	c.wantRefusal("InvalidInstanceID.NotFound", "TerminateInstances", "InstanceId.1", id)
	c.simulator.Advance(time.Minute)
	if got := []int{seen(), seen(), seen(), seen()}; !slices.Equal(got, []int{1, 0, 1, 0}) {
		t.Errorf("while it flaps the lists have %v", got)
	}
	c.simulator.Advance(time.Minute)
	if got := []int{seen(), seen(), seen()}; !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("after it flapped the lists have %v", got)
	}
}

func TestAnInstanceGoesThroughItsStatesAndIsForgottenAfterAnHour(t *testing.T) {
	c := newCaller(t, Options{Delays: Delays{Running: time.Minute, Terminating: time.Minute}})
	id := c.launch()[0]
	state := func() string {
		t.Helper()
		all := read(t, c.must("DescribeInstances")).Instances
		if len(all) == 0 {
			return ""
		}
		return all[0].State
	}
	want := func(wanted string) {
		t.Helper()
		if got := state(); got != wanted {
			t.Errorf("the state is %q, want %q", got, wanted)
		}
	}
	want("pending")
	c.simulator.Advance(time.Minute)
	want("running")
	c.must("TerminateInstances", "InstanceId.1", id)
	want("shutting-down")
	c.simulator.Advance(time.Minute)
	want("terminated")
	c.must("TerminateInstances", "InstanceId.1", id) // To end what ended is not an error.
	c.simulator.Advance(time.Hour)
	want("")
	if len(c.simulator.world.volumes)+len(c.simulator.world.interfaces) != 0 {
		t.Error("volumes or interfaces outlived the instance")
	}
}

func TestAnUnknownFilterIsRefusedAndAKnownOneNarrows(t *testing.T) {
	c := newCaller(t, Options{})
	c.wantRefusal("InvalidParameterValue", "DescribeInstances", "Filter.1.Name", "client-tokens", "Filter.1.Value.1", "x")
	c.launch("ClientToken", "key-1")
	id := c.launch("ClientToken", "key-2", "TagSpecification.1.ResourceType", "instance", "TagSpecification.1.Tag.1.Key",
		"fleet", "TagSpecification.1.Tag.1.Value", "a*b")[0]
	for _, filter := range [][2]string{{"client-token", "key-2"}, {"tag:fleet", `a\*b`}, {"tag:fleet", "a?b"},
		{"tag-key", "fl*"}} {
		found := read(t, c.must("DescribeInstances", "Filter.1.Name", filter[0], "Filter.1.Value.1", filter[1],
			"Filter.2.Name", "instance-state-name", "Filter.2.Value.1", "pending", "Filter.2.Value.2", "running")).Instances
		if len(found) != 1 || found[0].ID != id {
			t.Errorf("the filter %q shows %v, want %s alone", filter, found, id)
		}
	}
	if found := read(t,
		c.must("DescribeInstances", "Filter.1.Name", "tag:fleet", "Filter.1.Value.1", "A*")).Instances; len(found) != 0 {
		t.Errorf("a filter of another case shows %v", found)
	}
}

func TestAnUnsignedRequestAndOneForAnotherRegionAreRefused(t *testing.T) {
	c := newCaller(t, Options{})
	header := c.signed()
	header.Del("Authorization")
	if status, body := c.send(header, "Action=DescribeInstances&Version="+apiVersion); status != 401 ||
		!strings.Contains(body, "AuthFailure") {
		t.Errorf("an unsigned request is answered with %d:\n%s", status, body)
	}
	c.region = "eu-west-1"
	c.wantRefusal("AuthFailure", "DescribeInstances")
}

func TestFaultsBeforeAndAfterTheEffect(t *testing.T) {
	c := newCaller(t, Options{})
	held := func() int { return len(c.simulator.world.instances) }
	c.simulator.Inject(Fault{Operation: "RunInstances"})
	if status, _ := c.call("RunInstances", launchOne("ClientToken", "key-1")...); status != 0 || held() != 0 {
		t.Errorf("a cut before the effect: status %d, %d instances", status, held())
	}
	c.simulator.Inject(Fault{Operation: "RunInstances", After: true})
	if status, _ := c.call("RunInstances", launchOne("ClientToken", "key-1")...); status != 0 || held() != 1 {
		t.Errorf("a cut after the effect: status %d, %d instances", status, held())
	}
	c.simulator.Inject(Fault{Operation: "RunInstances", After: true, Status: 500, Code: "InternalError"})
	if status, code := c.refused("RunInstances", launchOne("ClientToken", "key-2")...); status != 500 ||
		code != "InternalError" || held() != 2 {
		t.Errorf("a lie after the effect: status %d %s, %d instances", status, code, held())
	}
	c.simulator.Inject(Fault{Operation: "DescribeInstances", Count: 2, Code: "ExpiredToken"})
	c.must("DescribeVolumes")
	c.wantRefusal("ExpiredToken", "DescribeInstances")
	c.wantRefusal("ExpiredToken", "DescribeInstances")
	c.must("DescribeInstances")
	if calls := c.simulator.Calls("RunInstances"); calls != 3 {
		t.Errorf("%d launches were counted, want 3", calls)
	}
}

func TestALateAnswerIsTheTrueOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t, Options{Now: time.Now})
		c.simulator.Inject(Fault{Operation: "RunInstances", Late: time.Minute})
		began := time.Now()
		ids := c.launch("ClientToken", "key-1")
		if took := time.Since(began); took != time.Minute || len(ids) != 1 {
			t.Errorf("the answer %v came after %v", ids, took)
		}
	})
}

func TestBucketsRefuseAtThePublishedSizesAndRefill(t *testing.T) {
	c := newCaller(t, Options{Throttled: true})
	spend := func(action string, parameters ...string) int {
		for calls := range 200 {
			if status, _ := c.call(action, parameters...); status == 503 {
				c.wantRefusal("RequestLimitExceeded", action, parameters...)
				return calls
			}
		}
		return 200
	}
	filter := []string{"Filter.1.Name", "instance-state-name", "Filter.1.Value.1", "running"}
	got := []int{spend("RunInstances", launchOne()...), spend("DescribeInstances", filter...), spend("DescribeInstances"),
		spend("TerminateInstances", "InstanceId.1", "i-0f")}
	if want := []int{5, 100, 50, 50}; !slices.Equal(got, want) {
		t.Errorf("the buckets let through %v, want %v", got, want)
	}
	c.simulator.Advance(time.Second)
	got = []int{spend("RunInstances", launchOne()...), spend("DescribeInstances", filter...), spend("DescribeInstances"),
		spend("TerminateInstances", "InstanceId.1", "i-0f")}
	if want := []int{2, 20, 10, 5}; !slices.Equal(got, want) {
		t.Errorf("a second refills %v, want %v", got, want)
	}
	c.simulator.Advance(time.Hour)
	c.must("RunInstances", launchOne("MinCount", "1000", "MaxCount", "1000")...)
	c.wantRefusal("RequestLimitExceeded", "RunInstances", launchOne()...)
}

func TestARefilledBucketNeverHoldsMoreThanItsSize(t *testing.T) {
	full := newBuckets(start)
	if !full.take(launching, 5, start.Add(time.Hour)) || full.take(launching, 1, start.Add(time.Hour)) {
		t.Error("an idle hour left more or fewer than five launches")
	}
}
