package libvirt

import (
	"slices"
	"strings"
	"testing"
	"time"

	xmlform "libvirt.org/go/libvirtxml"
)

func TestThePluginIsDeclaredRightly(t *testing.T) {
	if err := Plugin("0.1.0").Check(); err != nil {
		t.Fatal(err)
	}
}

func TestAHostThatCantBeOneIsToldAtItsAttribute(t *testing.T) {
	good := Host{Name: "a", URI: "qemu:///system", Pool: "default"}
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"nothing wrong":            {func(*Config) {}, ""},
		"a name with a slash":      {func(c *Config) { c.Hosts[0].Name = "a/b" }, "host[0].name"},
		"a name that is taken":     {func(c *Config) { c.Hosts = append(c.Hosts, good) }, "host[1].name"},
		"a URI of another driver":  {func(c *Config) { c.Hosts[0].URI = "xen:///system" }, "host[0].uri"},
		"a pool with a slash":      {func(c *Config) { c.Hosts[0].Pool = "a/b" }, "host[0].pool"},
		"fewer than no processors": {func(c *Config) { c.Hosts[0].VCPUs = -1 }, "host[0].vcpus"},
		"a size without a unit":    {func(c *Config) { c.Hosts[0].Memory = "48" }, "host[0].memory"},
		"a call without end":       {func(c *Config) { c.CallTimeout = time.Hour }, "call_timeout"},
		"a shutdown without end":   {func(c *Config) { c.Shutdown = time.Hour }, "shutdown"},
	} {
		config := Config{Hosts: []Host{good}, CallTimeout: 20 * time.Second, Shutdown: 30 * time.Second}
		test.change(&config)
		found := config.Validate()
		if test.want == "" && len(found) > 0 || test.want != "" && (len(found) != 1 || found[0].Path.String() != test.want) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestAMachineThatCantBeOneIsToldAtItsAttribute(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Instance)
		want   string
	}{
		"nothing wrong":            {func(*Instance) {}, ""},
		"no processor":             {func(i *Instance) { i.VCPUs = 0 }, "vcpus"},
		"hardly any memory":        {func(i *Instance) { i.Memory = "1KiB" }, "memory"},
		"a disk without a unit":    {func(i *Instance) { i.Disk = "40" }, "disk"},
		"a network without a kind": {func(i *Instance) { i.Network = "default" }, "network"},
		"a user's network by name": {func(i *Instance) { i.Network = "user:x" }, "network"},
		"another machine":          {func(i *Instance) { i.Machine = "virt" }, "machine"},
		"another firmware":         {func(i *Instance) { i.Firmware = "efi" }, "firmware"},
		"another emulation":        {func(i *Instance) { i.Emulation = "tcg" }, "emulation"},
		"an initrd without kernel": {func(i *Instance) { i.Initrd = "/initrd" }, "kernel"},
		"a kernel in no folder":    {func(i *Instance) { i.Kernel = "vmlinuz" }, "kernel"},
		"a device without address": {func(i *Instance) { i.Devices = []Device{{}} }, "device[0]"},
		"a device of two addresses": {func(i *Instance) {
			i.Devices = []Device{{PCI: "0000:65:00.0", USB: "046d:c52b"}}
		}, "device[0]"},
		"a PCI address cut short": {func(i *Instance) { i.Devices = []Device{{PCI: "65:00.0"}} }, "device[0].pci"},
		"a USB device in words":   {func(i *Instance) { i.Devices = []Device{{USB: "mouse"}} }, "device[0].usb"},
		"a host with a slash":     {func(i *Instance) { i.Hosts = []string{"a/b"} }, "hosts[0]"},
	} {
		instance := idle()
		test.change(&instance)
		found := instance.Validate()
		if test.want == "" && len(found) > 0 || test.want != "" && (len(found) != 1 || found[0].Path.String() != test.want) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestASizeIsAWholeNumberWithItsUnit(t *testing.T) {
	for text, want := range map[string]uint64{"1KiB": 1 << 10, "512MiB": 512 << 20, "4GiB": 4 << 30, "2TiB": 2 << 40} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "4", "GiB", "4GB", "4 GiB", "-4GiB", "0GiB", "1.5GiB", "99999999999TiB",
		"18446744073709551616KiB"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestWhatAMachineGetsIsInItsDefinition(t *testing.T) {
	instance := idle()
	instance.Network, instance.Firmware, instance.Machine, instance.VCPUs = "bridge:br0", "uefi", "q35", 3
	instance.Devices = []Device{{PCI: "0000:65:00.1", GPU: true}, {USB: "046d:c52b"}}
	m := machine{key: "k1", title: "linux <k1>", instance: instance, kvm: true, overlay: "/p/inst.k1.qcow2",
		seed: "/p/inst.k1.seed.iso", record: record{
			Installation: "inst", Key: "k1", Tags: sortedTags(map[string]string{"b": "2", "a": "1"}),
		}}
	text, err := m.definition()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.definition(); err != nil || again != text {
		t.Error("two definitions of one machine differ")
	}
	for _, want := range []string{
		`<domain type="kvm">`, `<name>k1</name>`, `urn:forgeyard-fleet:instance`,
		`<tag name="a" value="1"></tag><tag name="b" value="2"></tag>`,
		`<source bridge="br0">`, `firmware="efi"`, `machine="q35"`, `<vcpu>3</vcpu>`, `mode="host-passthrough"`,
		`linux &lt;k1&gt;`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the definition lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "<uuid>") {
		t.Error("the definition has a UUID: a second one would change the first domain instead of being refused")
	}
	var read guest
	if err := read.xml.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	if got := read.devices(); !slices.Equal(got, addresses(instance.Devices)) {
		t.Errorf("the devices are read back as %v", got)
	}
	if disks := read.xml.Devices.Disks; len(disks) != 2 || disks[1].ReadOnly == nil || disks[0].ReadOnly != nil {
		t.Errorf("the disks are %+v", disks)
	}
	if (&guest{xml: xmlform.Domain{}}).devices() != nil {
		t.Error("a domain without devices has some")
	}
}
