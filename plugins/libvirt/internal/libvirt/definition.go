package libvirt

import (
	"fmt"
	"strconv"

	xmlform "libvirt.org/go/libvirtxml"
)

// machine is everything that a domain is defined from.
type machine struct {
	key      string
	title    string // for people
	record   record
	instance Instance
	kvm      bool
	base     base
	overlay  string // path of the disk
	seed     string // path of the seed
}

// definition is the domain in the daemon's form. It has no UUID: the daemon makes
// one, and so refuses a second domain of the name instead of changing the first.
func (m machine) definition() (string, error) {
	owned, err := m.record.encode()
	if err != nil {
		return "", err
	}
	memory, err := parseSize(m.instance.Memory)
	if err != nil {
		return "", err
	}
	network, err := networkInterface(m.instance.Network)
	if err != nil {
		return "", err
	}
	devices, err := passedThrough(m.instance.Devices)
	if err != nil {
		return "", err
	}
	domain := xmlform.Domain{
		Type: "qemu", Name: m.key, Title: m.title,
		Metadata: &xmlform.DomainMetadata{XML: owned},
		Memory:   &xmlform.DomainMemory{Value: uint(memory >> 10), Unit: "KiB"},
		VCPU:     &xmlform.DomainVCPU{Value: uint(m.instance.VCPUs)},
		OS:       m.boot(),
		Features: &xmlform.DomainFeatureList{ACPI: &xmlform.DomainFeature{}, APIC: &xmlform.DomainFeatureAPIC{}},
		CPU:      &xmlform.DomainCPU{Mode: "maximum"},
		Clock:    &xmlform.DomainClock{Offset: "utc"},
		// A guest that is off stays off: the manager replaces it.
		OnPoweroff: "destroy", OnReboot: "restart", OnCrash: "destroy",
		Devices: &xmlform.DomainDeviceList{
			Disks:      []xmlform.DomainDisk{disk(m.overlay, "qcow2", "vda", false), disk(m.seed, "raw", "vdb", true)},
			Interfaces: []xmlform.DomainInterface{network},
			Hostdevs:   devices,
			Serials:    []xmlform.DomainSerial{{Source: &xmlform.DomainChardevSource{Pty: &xmlform.DomainChardevSourcePty{}}}},
			MemBalloon: &xmlform.DomainMemBalloon{Model: "none"},
			RNGs: []xmlform.DomainRNG{{Model: "virtio", Backend: &xmlform.DomainRNGBackend{
				Random: &xmlform.DomainRNGBackendRandom{Device: "/dev/urandom"},
			}}},
		},
	}
	if m.kvm {
		domain.Type, domain.CPU = "kvm", &xmlform.DomainCPU{Mode: "host-passthrough"}
	}
	return domain.Marshal()
}

func (m machine) boot() *xmlform.DomainOS {
	boot := &xmlform.DomainOS{
		Type:   &xmlform.DomainOSType{Arch: "x86_64", Machine: m.instance.Machine, Type: "hvm"},
		Kernel: m.instance.Kernel, Initrd: m.instance.Initrd, Cmdline: m.instance.CommandLine,
	}
	if m.instance.Kernel == "" {
		boot.BootDevices = []xmlform.DomainBootDevice{{Dev: "hd"}}
	}
	if m.instance.Firmware == "uefi" {
		boot.Firmware = "efi" // the daemon finds the files, and names the machine's NVRAM
		boot.FirmwareInfo = &xmlform.DomainOSFirmwareInfo{
			Features: []xmlform.DomainOSFirmwareFeature{{Enabled: "no", Name: "secure-boot"}}}
	}
	return boot
}

// disk is a virtio disk. The seed is one too: a machine of any kind has the bus,
// and cloud-init finds it by its label.
func disk(path, format, target string, readOnly bool) xmlform.DomainDisk {
	made := xmlform.DomainDisk{
		Device: "disk",
		Driver: &xmlform.DomainDiskDriver{Name: "qemu", Type: format},
		Source: &xmlform.DomainDiskSource{File: &xmlform.DomainDiskSourceFile{File: path}},
		Target: &xmlform.DomainDiskTarget{Dev: target, Bus: "virtio"},
	}
	if readOnly {
		made.ReadOnly = &xmlform.DomainDiskReadOnly{}
	}
	return made
}

func networkInterface(text string) (xmlform.DomainInterface, error) {
	kind, name, err := parseNetwork(text)
	made := xmlform.DomainInterface{Model: &xmlform.DomainInterfaceModel{Type: "virtio"},
		Source: &xmlform.DomainInterfaceSource{}}
	switch kind {
	case "network":
		made.Source.Network = &xmlform.DomainInterfaceSourceNetwork{Network: name}
	case "bridge":
		made.Source.Bridge = &xmlform.DomainInterfaceSourceBridge{Bridge: name}
	default:
		made.Source.User = &xmlform.DomainInterfaceSourceUser{}
	}
	return made, err
}

// passedThrough hands devices over; the daemon takes them from their drivers.
func passedThrough(devices []Device) ([]xmlform.DomainHostdev, error) {
	var all []xmlform.DomainHostdev
	for _, d := range devices {
		made := xmlform.DomainHostdev{Managed: "yes"}
		if parts := pciPattern.FindStringSubmatch(d.PCI); parts != nil {
			numbers, err := hexadecimal(parts[1:])
			if err != nil {
				return nil, err
			}
			made.SubsysPCI = &xmlform.DomainHostdevSubsysPCI{
				Source: &xmlform.DomainHostdevSubsysPCISource{Address: &xmlform.DomainAddressPCI{
					Domain: &numbers[0], Bus: &numbers[1], Slot: &numbers[2], Function: &numbers[3],
				}}}
		} else if parts := usbPattern.FindStringSubmatch(d.USB); parts != nil {
			made.Managed = ""
			made.SubsysUSB = &xmlform.DomainHostdevSubsysUSB{Source: &xmlform.DomainHostdevSubsysUSBSource{
				Vendor:  &xmlform.DomainHostDevProductVendorID{ID: "0x" + parts[1]},
				Product: &xmlform.DomainHostDevProductVendorID{ID: "0x" + parts[2]},
			}}
		} else {
			return nil, fmt.Errorf("the device %q%q has no address", d.PCI, d.USB)
		}
		all = append(all, made)
	}
	return all, nil
}

func hexadecimal(texts []string) ([]uint, error) {
	var numbers []uint
	for _, text := range texts {
		number, err := strconv.ParseUint(text, 16, 32)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, uint(number))
	}
	return numbers, nil
}
