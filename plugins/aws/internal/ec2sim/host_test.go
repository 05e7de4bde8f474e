package ec2sim

import (
	"strings"
	"testing"
	"time"
)

func TestAMacHostIsOccupiedScrubbedAndKeptForADay(t *testing.T) {
	c := newCaller(t, Options{Delays: Delays{Terminating: time.Minute, Scrubbing: 270 * time.Minute}})
	allocate := []string{"InstanceType", "mac2.metal", "AvailabilityZone", "us-east-1a", "Quantity", "1", "ClientToken",
		"host-1"}
	first := c.must("AllocateHosts", allocate...)
	id := c.simulator.world.hosts[0].ID
	if again := c.must("AllocateHosts", allocate...); !strings.Contains(again, id) || !strings.Contains(first, id) ||
		len(c.simulator.world.hosts) != 1 {
		t.Errorf("the same token allocated again:\n%s", again)
	}
	c.wantRefusal("IdempotentParameterMismatch", "AllocateHosts", append(allocate, "AutoPlacement", "off")...)
	c.wantRefusal("UnsupportedHostConfiguration", "AllocateHosts", "InstanceType", "mac2.metal", "AvailabilityZone",
		"us-east-1b", "Quantity", "1")

	run := launchOne("ImageId", "ami-0a000000000000003", "InstanceType", "mac2.metal", "Placement.HostId", id,
		"Placement.Tenancy", "host")
	instance := read(t, c.must("RunInstances", run...)).Started[0].ID
	c.wantRefusal("InvalidHost.Occupied", "RunInstances", run...)
	release := func(code string) {
		t.Helper()
		body := c.must("ReleaseHosts", "HostId.1", id)
		if code == "" && !strings.Contains(body, "<successful>\n    <item>"+id) ||
			code != "" && !strings.Contains(body, "<code>"+code+"</code>") {
			t.Errorf("the release is to say %q:\n%s", code, body)
		}
	}
	c.simulator.Advance(30 * time.Hour)
	release("Client.InvalidHost.Occupied")
	c.must("TerminateInstances", "InstanceId.1", instance)
	c.simulator.Advance(time.Minute)
	release("Client.InvalidHost.Pending")
	c.wantRefusal("InvalidHost.Occupied", "RunInstances", run...)
	c.simulator.Advance(270 * time.Minute)
	release("")
	release("Client.InvalidHost.Released")
}

func TestAMacHostThatWasNeverUsedIsKeptForADayAsWell(t *testing.T) {
	c := newCaller(t, Options{})
	c.must("AllocateHosts", "InstanceType", "mac2.metal", "AvailabilityZone", "us-east-1a", "Quantity", "1")
	id := c.simulator.world.hosts[0].ID
	c.simulator.Advance(24*time.Hour - time.Second)
	if body := c.must("ReleaseHosts", "HostId.1", id); !strings.Contains(body, "HostMinAllocationPeriodUnexpired") {
		t.Errorf("a second before the day is over:\n%s", body)
	}
	c.simulator.Advance(time.Second)
	if body := c.must("ReleaseHosts", "HostId.1", id); strings.Contains(body, "<error>") {
		t.Errorf("after the day:\n%s", body)
	}
}

func TestHostsAreHeldAgainstQuotaAndCapacity(t *testing.T) {
	c := newCaller(t, Options{})
	two := []string{"InstanceType", "mac2.metal", "AvailabilityZone", "us-east-1a", "Quantity", "2"}
	c.simulator.SetQuota(MacHostQuota, 1)
	c.wantRefusal("HostLimitExceeded", "AllocateHosts", two...)
	c.simulator.SetQuota(MacHostQuota, 5)
	c.simulator.SetHostCapacity("mac2.metal", "us-east-1a", 1)
	c.wantRefusal("InsufficientHostCapacity", "AllocateHosts", two...)
	c.simulator.SetHostCapacity("mac2.metal", "us-east-1a", 2)
	c.must("AllocateHosts", two...)
}
