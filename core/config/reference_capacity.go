package config

const classNotYet = "It is part of the class's identity, so a change replaces instances; jobs that require it are sent here, and no host is checked for it yet."

// capacityReference is where hosts come from and what they are.
var capacityReference = []ReferenceBlock{
	{
		Path: "provider", Labels: []string{"PLUGIN", "NAME"}, Repeated: true, Body: PluginBody,
		Doc: "One place where hosts come from. `PLUGIN` is an entry of `required_plugins`, and the plugin's schema says what the body holds: see [plugins/aws.md](plugins/aws.md), [plugins/libvirt.md](plugins/libvirt.md), [plugins/local.md](plugins/local.md) and [plugins/manual.md](plugins/manual.md). Refer to it as `provider.PLUGIN.NAME`. One plugin process serves each block.",
		Attributes: []ReferenceAttribute{
			{Name: "advertise", Type: TextValue, Doc: "The `https` URL at which this provider's hosts reach the manager, where that isn't `manager.advertise`: guests with user networking find it at `https://10.0.2.2:PORT`. It reaches new hosts alone; an agent keeps the address it was given."},
		},
		Example: `provider "local" "here" {
  advertise = "https://127.0.0.1:7443"
  root      = "/var/lib/acme-ci"
}
`,
	},
	{
		Path: "image", Labels: []string{"NAME"}, Repeated: true,
		Doc: "What hosts boot. A fleet whose provider has no images needs none; the plugin `local` has none and takes one as a note.",
		Attributes: []ReferenceAttribute{
			{Name: "digest", Type: TextValue, Required: true, Doc: "What the image is: `sha256:` and 64 hexadecimal digits in lower case. A new digest replaces instances."},
			{Name: "bootstrap", Type: TextValue, Required: true, Doc: "How the image wants its first-boot document, as one word. The plugin decides which kinds it can write; `local` takes `\"file\"`, `libvirt` also `\"cloud-init\"`."},
			{Name: "refs", Type: TextMapValue, Required: true, Doc: "What each provider calls the image, by `PLUGIN.NAME` of a provider block or by `PLUGIN` for all of its blocks. The more exact one wins."},
		},
		Example: `image "workstation" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { "local.here" = "workstation" }
}
`,
	},
	{
		Path: "capacity_class", Labels: []string{"NAME"}, Repeated: true,
		Doc: "Hosts that are as good as each other for a job. A change of anything but the name replaces the instances of the fleets that use it.",
		Attributes: []ReferenceAttribute{
			{Name: "trust", Type: TextValue, Required: true, Doc: "The trust class as one word in lower case. Runners get it from here; nothing that an agent says can raise it."},
			{Name: "capabilities", Type: TextListValue, Default: "[]", Doc: "What every host must show before it is admitted, each a word in lower case. The agent can show `docker`, `git`, `kvm`, `podman`, `shell` and `xcode`; a host is never admitted for any other."},
			{Name: "toolchain", Type: TextListValue, Default: "[]", Doc: "Toolchains that jobs may require, such as `\"xcode-16.2\"`.", NotYet: classNotYet},
			{Name: "device", Type: TextValue, Doc: "Kind of device that is attached, as one word. Left out: none.", NotYet: classNotYet},
			{Name: "isolation", Type: TextValue, Doc: "How jobs are kept apart from the rest of the world, as one word such as `\"vm\"`. Left out: nothing is said.", NotYet: classNotYet},
			{Name: "signing", Type: BoolValue, Default: "false", Doc: "Hosts may sign releases. Their fleets should be `protected`. A host is admitted only where its provider vouches for `signing`."},
			{Name: "confidential", Type: BoolValue, Default: "false", Doc: "Hosts are confidential computers. A host is admitted only where its provider vouches for `confidential`."},
		},
		Example: `capacity_class "small" {
  trust        = "standard"
  capabilities = ["git"]
  toolchain    = ["go-1.26"]
  device       = "android"
  isolation    = "vm"
  signing      = false
  confidential = false

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "512MiB"
    disk   = "10GiB"
    slots  = 1
    gpu    = 0
    named  = { fpga = 2 }
  }
}
`,
	},
	{
		Path: "capacity_class.platform", Required: true,
		Doc: "What the agent must report of its host.",
		Attributes: []ReferenceAttribute{
			{Name: "os", Type: TextValue, Required: true, Doc: "`linux`, `darwin` or `windows`."},
			{Name: "arch", Type: TextValue, Required: true, Doc: "`x86_64` or `arm64`."},
		},
	},
	{
		Path: "capacity_class.resources", Required: true,
		Doc: "What one host offers. The values are part of the class's identity; this version doesn't measure hosts against them.",
		Attributes: []ReferenceAttribute{
			{Name: "cpu", Type: CPUValue, Required: true, Doc: "Processors, from 0.001 to 1000000 with at most three decimal places."},
			{Name: "memory", Type: SizeValue, Required: true, Doc: "Memory, such as `\"16GiB\"`."},
			{Name: "disk", Type: SizeValue, Doc: "Disk. Left out: nothing is said about it."},
			{Name: "slots", Type: CountValue, Default: "1", Doc: "Jobs side by side, from 1 to 100000. The agent of this version runs one job at a time whatever the number."},
			{Name: "gpu", Type: CountValue, Default: "0", Doc: "Graphics processors, at most 1024. Where there are any, a host is admitted only where its provider vouches for `gpu`."},
			{Name: "named", Type: CountMapValue, Default: "{}", Doc: "What else there is to count, by name, each from 1 to 1000000000.", NotYet: classNotYet},
		},
	},
}
