package libvirt

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// Config is the provider block.
type Config struct {
	Hosts       []Host        `fleet:"host,block,required" doc:"One machine that runs virtual machines: a zone."`
	CallTimeout time.Duration `fleet:"call_timeout" default:"20s" doc:"How long a daemon may take to answer one call, from 1s to 60s. A connection on which it takes longer is given up."`
	Shutdown    time.Duration `fleet:"shutdown" default:"30s" doc:"How long a guest may take to shut down by itself before it is powered off, from 0s to 90s."`
}

// Host is one libvirt daemon.
type Host struct {
	Name   string `fleet:"name,required" doc:"What the host is called here; it is also its zone. It is part of every machine's id, so it stays as long as there are machines."`
	URI    string `fleet:"uri" default:"qemu:///system" doc:"Where its daemon is: qemu:///system, also with ?socket=PATH; a user's own, as qemu:///session?socket=PATH; qemu+ssh://USER@HOST/system, also with ?keyfile=PATH, known_hosts=PATH and socket=PATH; qemu+tls://HOST/system, also with ?pkipath=PATH."`
	Pool   string `fleet:"pool" default:"default" doc:"The storage pool for the machines' disks and seeds: a directory, also on a file system that is mounted."`
	VCPUs  int    `fleet:"vcpus" default:"0" doc:"How many virtual processors all machines of the host may have together. 0: as many as it has processors."`
	Memory string `fleet:"memory" doc:"How much memory all machines of the host may have together, such as \"48GiB\". By default what the host has, less 1 GiB."`
}

// Instance is the instance block of a fleet.
type Instance struct {
	VCPUs       int      `fleet:"vcpus,immutable" default:"2" doc:"Virtual processors."`
	Memory      string   `fleet:"memory,immutable" default:"2GiB" doc:"Memory, such as \"4GiB\"."`
	Disk        string   `fleet:"disk,immutable" doc:"Size of the disk, such as \"40GiB\". By default, and at least, the image's; the guest has to grow the file system in it."`
	Network     string   `fleet:"network,immutable" default:"network:default" doc:"\"network:NAME\" for a network of libvirt, \"bridge:NAME\" for a bridge of the host, or \"user\": then guests reach out through QEMU itself, and the host at 10.0.2.2."`
	Machine     string   `fleet:"machine,immutable" default:"q35" doc:"q35 or pc."`
	Firmware    string   `fleet:"firmware,immutable" default:"bios" doc:"bios or uefi."`
	Emulation   string   `fleet:"emulation,immutable" default:"auto" doc:"auto: by the processor (KVM) where the host can, else in software; never: KVM or nothing; always: in software, which is slow."`
	Hosts       []string `fleet:"hosts" doc:"Names of the hosts where machines may be made. None: any."`
	Kernel      string   `fleet:"kernel,immutable" doc:"Path on the host of a kernel that is booted directly, without the image's boot loader."`
	Initrd      string   `fleet:"initrd,immutable" doc:"Path on the host of its initial file system."`
	CommandLine string   `fleet:"command_line,immutable" doc:"The kernel's command line."`
	Devices     []Device `fleet:"device,block" doc:"One device of the host that is handed to the machine, and to one machine at a time."`
}

// Device is a device that is passed through.
type Device struct {
	PCI string `fleet:"pci,immutable" doc:"Its address, such as \"0000:65:00.0\"."`
	USB string `fleet:"usb,immutable" doc:"Its vendor and product, such as \"046d:c52b\"."`
	GPU bool   `fleet:"gpu,immutable" default:"false" doc:"Whether it is a graphics processor: the machine then counts as having one."`
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	pciPattern  = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$`)
	usbPattern  = regexp.MustCompile(`^([0-9a-f]{4}):([0-9a-f]{4})$`)
)

const nameForm = "A name has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or digit."

// Validate checks what types can't say.
func (c Config) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	first := map[string]int{}
	for n, h := range c.Hosts {
		at := provider.At("host").Index(n)
		complain := func(attribute, summary, detail string) {
			found = append(found, provider.Diagnostic{Path: at.Attr(attribute), Summary: summary, Detail: detail})
		}
		if !namePattern.MatchString(h.Name) {
			complain("name", fmt.Sprintf("%q can't be the name of a host", h.Name), nameForm)
		} else if earlier, taken := first[h.Name]; taken {
			complain("name", fmt.Sprintf("The name %q is used twice", h.Name),
				fmt.Sprintf("Host number %d has it already.", earlier+1))
		} else {
			first[h.Name] = n
		}
		if !namePattern.MatchString(h.Pool) {
			complain("pool", fmt.Sprintf("%q can't be the name of a pool", h.Pool), nameForm)
		}
		if _, err := daemon.ParseTarget(h.URI); err != nil {
			complain("uri", "The host's URI can't be used", err.Error())
		}
		if h.VCPUs < 0 {
			complain("vcpus", "A host can't have fewer than no processors", "Leave it out for as many as the host has.")
		}
		if h.Memory != "" {
			if _, err := parseSize(h.Memory); err != nil {
				complain("memory", "Invalid size", err.Error())
			}
		}
	}
	for name, bound := range map[string]struct{ value, least, most time.Duration }{
		"call_timeout": {c.CallTimeout, time.Second, time.Minute}, "shutdown": {c.Shutdown, 0, 90 * time.Second},
	} {
		if bound.value < bound.least || bound.value > bound.most {
			found = append(found, provider.Diagnostic{Path: provider.At(name), Summary: "Out of range",
				Detail: fmt.Sprintf("%s is from %s to %s, not %s.", name, bound.least, bound.most, bound.value)})
		}
	}
	return found
}

// Validate checks what types can't say.
func (i Instance) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	complain := func(path provider.Path, summary, detail string) {
		found = append(found, provider.Diagnostic{Path: path, Summary: summary, Detail: detail})
	}
	oneOf := func(attribute, value string, words ...string) {
		for _, word := range words {
			if value == word {
				return
			}
		}
		complain(provider.At(attribute), fmt.Sprintf("invalid value %q for %s", value, attribute),
			"Write one of "+strings.Join(words, ", ")+".")
	}
	if i.VCPUs < 1 || i.VCPUs > 512 {
		complain(provider.At("vcpus"), "Out of range",
			fmt.Sprintf("A machine has 1 to 512 virtual processors, not %d.", i.VCPUs))
	}
	for attribute, text := range map[string]string{"memory": i.Memory, "disk": i.Disk} {
		if text == "" && attribute == "disk" {
			continue
		}
		size, err := parseSize(text)
		if err == nil && size < 1<<20 {
			err = fmt.Errorf("%q is less than 1MiB", text)
		}
		if err != nil {
			complain(provider.At(attribute), "Invalid size", err.Error())
		}
	}
	if _, _, err := parseNetwork(i.Network); err != nil {
		complain(provider.At("network"), "Invalid network", err.Error())
	}
	oneOf("machine", i.Machine, "q35", "pc")
	oneOf("firmware", i.Firmware, "bios", "uefi")
	oneOf("emulation", i.Emulation, "auto", "never", "always")
	if i.Kernel == "" && (i.Initrd != "" || i.CommandLine != "") {
		complain(provider.At("kernel"), "The kernel is missing",
			"initrd and command_line belong to a kernel that is booted directly.")
	}
	for attribute, path := range map[string]string{"kernel": i.Kernel, "initrd": i.Initrd} {
		if path != "" && !strings.HasPrefix(path, "/") {
			complain(provider.At(attribute), "Relative path", fmt.Sprintf("%q must be an absolute path on the host.", path))
		}
	}
	for n, name := range i.Hosts {
		if !namePattern.MatchString(name) {
			complain(provider.At("hosts").Index(n), fmt.Sprintf("%q can't be the name of a host", name), nameForm)
		}
	}
	for n, d := range i.Devices {
		if path, summary, detail := d.wrong(provider.At("device").Index(n)); summary != "" {
			complain(path, summary, detail)
		}
	}
	return found
}

// wrong says what types can't, and where in the device's block; an empty summary:
// nothing is.
func (d Device) wrong(at provider.Path) (path provider.Path, summary, detail string) {
	switch {
	case (d.PCI == "") == (d.USB == ""):
		return at, "A device is named by one of pci and usb", "Write pci = \"0000:65:00.0\" or usb = \"046d:c52b\"."
	case d.PCI != "" && !pciPattern.MatchString(d.PCI):
		return at.Attr("pci"), fmt.Sprintf("invalid PCI address %q", d.PCI),
			"It has the form \"0000:65:00.0\", as lspci -D prints it."
	case d.USB != "" && !usbPattern.MatchString(d.USB):
		return at.Attr("usb"), fmt.Sprintf("%q is no USB device", d.USB),
			"It has the form \"046d:c52b\": vendor and product, as lsusb prints them."
	}
	return at, "", ""
}
