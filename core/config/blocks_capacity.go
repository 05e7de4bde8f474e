package config

// providerBlock is what the manager itself reads of a provider block; the rest is
// the plugin's.
type providerBlock struct {
	Plugin    string `fleet:"-" label:"PLUGIN" example:"local"`
	Name      string `fleet:"-" label:"NAME" example:"here"`
	Advertise string `fleet:"advertise" form:"https" example:"https://127.0.0.1:7443" doc:"The 'https' URL at which this provider's instances reach the manager, where that isn't 'manager.advertise': guests with user networking find it at 'https://10.0.2.2:PORT'. Only new instances get it; an agent keeps the address it was given."`
}

// imageBlock is what instances boot.
type imageBlock struct {
	Name      string            `fleet:"-" label:"NAME" example:"workstation"`
	Digest    string            `fleet:"digest,required" form:"digest" example:"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" doc:"What the image is: 'sha256:' and 64 hexadecimal digits in lower case. A new digest replaces instances."`
	Bootstrap string            `fleet:"bootstrap,required" form:"word" example:"file" doc:"The format of first-boot document that the image expects, as one word. The plugin decides which formats it can write; 'local' takes '\"file\"', 'libvirt' also '\"cloud-init\"'."`
	Refs      map[string]string `fleet:"refs,required" example:"{ \"local.here\" = \"workstation\" }" doc:"What each provider calls the image, by 'PLUGIN.NAME' of a provider block or by 'PLUGIN' for all of its blocks. The more exact one wins."`
}

// classBlock is a fleet.CapacityClass.
type classBlock struct {
	Name         string          `fleet:"-" label:"NAME" example:"small"`
	Trust        string          `fleet:"trust,required" form:"word" example:"standard" doc:"The trust class as one word in lower case. Runners get it from here; nothing that an agent says can raise it."`
	Capabilities []string        `fleet:"capabilities" list:"set" form:"word" default:"[]" example:"[\"git\"]" doc:"What every instance must show before it is admitted, each a word in lower case. The agent can show 'docker', 'git', 'kvm', 'podman', 'shell' and 'xcode'; an instance is never admitted for any other."`
	Toolchain    []string        `fleet:"toolchain" list:"set" form:"filled" default:"[]" notyet:"class" example:"[\"go-1.26\"]" doc:"Toolchains that jobs may require, such as '\"xcode-16.2\"'."`
	Device       string          `fleet:"device" form:"word" notyet:"class" example:"android" doc:"Kind of device that is attached, as one word. Left out: none."`
	Isolation    string          `fleet:"isolation" form:"word" notyet:"class" example:"vm" doc:"How jobs are isolated, as one word such as '\"vm\"'. Left out: unspecified."`
	Signing      bool            `fleet:"signing" default:"false" example:"false" doc:"Instances may sign releases. Their fleets should be 'protected'. An instance is admitted only where its provider vouches for 'signing'."`
	Confidential bool            `fleet:"confidential" default:"false" example:"false" doc:"Instances are confidential computers. An instance is admitted only where its provider vouches for 'confidential'."`
	Platform     *platformBlock  `fleet:"platform,block,required" doc:"The platform that the agent must report."`
	Resources    *resourcesBlock `fleet:"resources,block,required" doc:"What one instance offers. The values are part of the class's identity; this version doesn't measure instances against them."`
}

// platformBlock is a fleet.Platform.
type platformBlock struct {
	OS   string `fleet:"os,required" oneof:"linux,darwin,windows" example:"linux" doc:"'linux', 'darwin' or 'windows'."`
	Arch string `fleet:"arch,required" oneof:"x86_64,arm64" aliases:"amd64=x86_64,x64=x86_64,x86-64=x86_64,aarch64=arm64" example:"x86_64" doc:"'x86_64' or 'arm64'."`
}

// resourcesBlock is a fleet.ResourceCapacity.
type resourcesBlock struct {
	CPUMilli    int64            `fleet:"cpu,required" unit:"cpu" example:"1" doc:"Processors, from 0.001 to 1000000 with at most three decimal places."`
	MemoryBytes int64            `fleet:"memory,required" unit:"size" example:"512MiB" doc:"Memory, such as '\"16GiB\"'."`
	DiskBytes   int64            `fleet:"disk" unit:"size" example:"10GiB" doc:"Disk. Left out: unspecified."`
	Slots       int64            `fleet:"slots" min:"1" max:"100000" default:"1" example:"1" doc:"Jobs side by side, from 1 to 100000. The agent of this version runs one job at a time whatever the number."`
	GPU         int64            `fleet:"gpu" min:"0" max:"1024" default:"0" example:"0" doc:"Graphics processors, at most 1024. With 'gpu' above 0, an instance is admitted only where its provider vouches for 'gpu'."`
	Named       map[string]int64 `fleet:"named" keys:"name" min:"1" max:"1000000000" default:"{}" notyet:"class" example:"{ fpga = 2 }" doc:"Other countable resources, by name, each from 1 to 1000000000."`
}
