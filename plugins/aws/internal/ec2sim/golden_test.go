package ec2sim

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden answers")

// TestAnswers holds every answer of EC2 to its written form: the account is the
// same in each run, so each answer has the same bytes.
func TestAnswers(t *testing.T) {
	c := newCaller(t, Options{Delays: Delays{Running: time.Minute, Terminating: time.Minute, Scrubbing: time.Hour}})
	compare := func(name, body string) {
		t.Helper()
		path := filepath.Join("testdata", name+".xml")
		if *update {
			if err := os.WriteFile(path, []byte(body+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != body+"\n" {
			t.Errorf("the answer of %s changed; see to it that the change is the API's, then run with "+
				"-update.\ngot:\n%s\nwant:\n%s", name, body, want)
		}
	}
	compare("RunInstances", c.must("RunInstances", launchOne("ClientToken", "key-1",
		"NetworkInterface.1.DeviceIndex", "0", "NetworkInterface.1.SubnetId", "subnet-0a000000000000002",
		"NetworkInterface.1.SecurityGroupId.1", "sg-0a000000000000001", "NetworkInterface.1.AssociatePublicIpAddress", "true",
		"BlockDeviceMapping.1.DeviceName", "/dev/sda1", "BlockDeviceMapping.1.Ebs.VolumeSize", "30",
		"BlockDeviceMapping.1.Ebs.Encrypted", "true",
		"BlockDeviceMapping.1.Ebs.Iops", "4000", "BlockDeviceMapping.1.Ebs.Throughput", "250",
		"BlockDeviceMapping.1.Ebs.KmsKeyId", "alias/runners",
		"InstanceMarketOptions.MarketType", "spot", "InstanceMarketOptions.SpotOptions.MaxPrice", "0.05",
		"MetadataOptions.HttpTokens", "required", "MetadataOptions.HttpPutResponseHopLimit", "1",
		"IamInstanceProfile.Name", "runner", "UserData", "I2Nsb3VkLWNvbmZpZwo=",
		"TagSpecification.1.ResourceType", "instance", "TagSpecification.1.Tag.1.Key", "fleet",
		"TagSpecification.1.Tag.1.Value", "builders",
		"TagSpecification.2.ResourceType", "volume", "TagSpecification.2.Tag.1.Key", "fleet",
		"TagSpecification.2.Tag.1.Value", "builders",
	)...))
	mac := c.must("AllocateHosts", "InstanceType", "mac2.metal", "AvailabilityZone", "us-east-1a", "Quantity", "1",
		"ClientToken", "host-1",
		"TagSpecification.1.ResourceType", "dedicated-host", "TagSpecification.1.Tag.1.Key", "fleet",
		"TagSpecification.1.Tag.1.Value", "macs")
	compare("AllocateHosts", mac)
	host := c.simulator.world.hosts[0].ID
	id, volume := c.simulator.world.instances[0].ID, c.simulator.world.volumes[0].ID
	spot, face := c.simulator.world.spots[0].ID, c.simulator.world.interfaces[0].ID
	compare("CreateTags",
		c.must("CreateTags", "ResourceId.1", id, "ResourceId.2", host, "Tag.1.Key", "seen", "Tag.1.Value", "yes"))
	compare("DescribeTags", c.must("DescribeTags", "Filter.1.Name", "resource-type", "Filter.1.Value.1", "instance"))
	compare("DeleteTags", c.must("DeleteTags", "ResourceId.1", id, "Tag.1.Key", "seen"))
	c.simulator.Advance(time.Minute)
	compare("DescribeInstances", c.must("DescribeInstances", "InstanceId.1", id))
	compare("DescribeVolumes", c.must("DescribeVolumes", "VolumeId.1", volume))
	compare("DescribeNetworkInterfaces", c.must("DescribeNetworkInterfaces", "NetworkInterfaceId.1", face))
	compare("DescribeSpotInstanceRequests", c.must("DescribeSpotInstanceRequests", "SpotInstanceRequestId.1", spot))
	compare("CancelSpotInstanceRequests", c.must("CancelSpotInstanceRequests", "SpotInstanceRequestId.1", spot))
	compare("DescribeImages",
		c.must("DescribeImages", "Owner.1", "self", "Filter.1.Name", "name", "Filter.1.Value.1", "runner-ubuntu-*-arm64-*"))
	compare("DescribeSubnets",
		c.must("DescribeSubnets", "Filter.1.Name", "availability-zone", "Filter.1.Value.1", "us-east-1b"))
	compare("DescribeSecurityGroups", c.must("DescribeSecurityGroups", "GroupId.1", "sg-0a000000000000001"))
	compare("DescribeAvailabilityZones", c.must("DescribeAvailabilityZones", "ZoneName.1", "us-east-1c"))
	compare("DescribeInstanceTypes",
		c.must("DescribeInstanceTypes", "InstanceType.1", "g5.12xlarge", "InstanceType.2", "mac2.metal", "InstanceType.3",
			"c8i.large"))
	compare("DescribeInstanceTypeOfferings",
		c.must("DescribeInstanceTypeOfferings", "LocationType", "availability-zone", "Filter.1.Name", "instance-type",
			"Filter.1.Value.1", "g5.xlarge"))
	compare("DescribeSpotPriceHistory",
		c.must("DescribeSpotPriceHistory", "InstanceType.1", "c7i.large", "StartTime", "2026-11-30T06:00:00Z",
			"AvailabilityZone", "us-east-1a"))
	compare("DescribeHosts", c.must("DescribeHosts", "HostId.1", host))
	compare("ReleaseHosts", c.must("ReleaseHosts", "HostId.1", host, "HostId.2", "h-0ffffffffffffffff"))
	compare("TerminateInstances", c.must("TerminateInstances", "InstanceId.1", id))
	c.simulator.Advance(time.Minute)
	compare("DescribeInstances-terminated", c.must("DescribeInstances", "InstanceId.1", id))
	compareLeftOver(t, c, compare)
	_, refusal := c.call("DescribeInstances", "InstanceId.1", "i-0ffffffffffffffff")
	compare("refusal", refusal)
	c.simulator.AddLaunchTemplate("lt-0a000000000000001", "runners",
		map[string]string{"KeyName": "on-call", "DisableApiTermination": "true",
			"BlockDeviceMapping.1.DeviceName": "/dev/sda1", "BlockDeviceMapping.1.Ebs.VolumeSize": "50",
			"BlockDeviceMapping.1.Ebs.Encrypted": "false",
			"NetworkInterface.1.DeviceIndex":     "0", "NetworkInterface.1.SecurityGroupId.1": "sg-0a000000000000001",
			"InstanceMarketOptions.MarketType": "spot",
			"Placement.Tenancy":                "host", "SecurityGroupId.1": "sg-0a000000000000001"})
	compare("DescribeLaunchTemplateVersions",
		c.must("DescribeLaunchTemplateVersions", "LaunchTemplateName", "runners", "LaunchTemplateVersion.1", "1"))
}

// compareLeftOver compares what is said of the deletion of what outlives an instance.
func compareLeftOver(t *testing.T, c caller, compare func(name, body string)) {
	t.Helper()
	kept := c.launch("NetworkInterface.1.DeviceIndex", "0", "NetworkInterface.1.DeleteOnTermination", "false",
		"BlockDeviceMapping.1.DeviceName", "/dev/sda1", "BlockDeviceMapping.1.Ebs.DeleteOnTermination", "false")[0]
	volume, face := c.simulator.world.volumes[0].ID, c.simulator.world.interfaces[0].ID
	c.wantRefusal("VolumeInUse", "DeleteVolume", "VolumeId", volume)
	c.wantRefusal("InvalidNetworkInterface.InUse", "DeleteNetworkInterface", "NetworkInterfaceId", face)
	c.must("TerminateInstances", "InstanceId.1", kept)
	c.simulator.Advance(time.Minute)
	compare("DeleteVolume", c.must("DeleteVolume", "VolumeId", volume))
	compare("DeleteNetworkInterface", c.must("DeleteNetworkInterface", "NetworkInterfaceId", face))
	c.wantRefusal("InvalidVolume.NotFound", "DescribeVolumes", "VolumeId.1", volume)
}
