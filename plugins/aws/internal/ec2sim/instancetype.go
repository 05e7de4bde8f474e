package ec2sim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// instanceType is one line of the table. Prices are those of Linux on demand
// in us-east-1, in dollars an hour, and as old as the table.
type instanceType struct {
	Name         string
	CPUs         int
	Threads      int // per core
	MiB          int
	Architecture string
	Maker        string
	OnDemand     string
	GPUs         int
	GPU          string
	GPUMiB       int // of each
	Clock        string
	onDemandOnly bool // neither spot nor without a dedicated host
}

var instanceTypes = []instanceType{
	{"t3.micro", 2, 2, 1024, "x86_64", "Intel", "0.0104", 0, "", 0, "2.5", false},
	{"t3.medium", 2, 2, 4096, "x86_64", "Intel", "0.0416", 0, "", 0, "2.5", false},
	{"c7i.large", 2, 2, 4096, "x86_64", "Intel", "0.08925", 0, "", 0, "3.2", false},
	{"c7i.xlarge", 4, 2, 8192, "x86_64", "Intel", "0.1785", 0, "", 0, "3.2", false},
	{"c7i.2xlarge", 8, 2, 16384, "x86_64", "Intel", "0.357", 0, "", 0, "3.2", false},
	{"c7i.metal-24xl", 96, 2, 196608, "x86_64", "Intel", "4.284", 0, "", 0, "3.2", false},
	{"c8i.large", 2, 2, 4096, "x86_64", "Intel", "0.09371", 0, "", 0, "3.9", false},
	{"c8i.2xlarge", 8, 2, 16384, "x86_64", "Intel", "0.37485", 0, "", 0, "3.9", false},
	{"c7g.large", 2, 1, 4096, "arm64", "AWS", "0.0725", 0, "", 0, "2.6", false},
	{"c7g.xlarge", 4, 1, 8192, "arm64", "AWS", "0.145", 0, "", 0, "2.6", false},
	{"c7g.2xlarge", 8, 1, 16384, "arm64", "AWS", "0.29", 0, "", 0, "2.6", false},
	{"m7i.large", 2, 2, 8192, "x86_64", "Intel", "0.1008", 0, "", 0, "3.2", false},
	{"m7i.xlarge", 4, 2, 16384, "x86_64", "Intel", "0.2016", 0, "", 0, "3.2", false},
	{"m7i.2xlarge", 8, 2, 32768, "x86_64", "Intel", "0.4032", 0, "", 0, "3.2", false},
	{"m7g.large", 2, 1, 8192, "arm64", "AWS", "0.0816", 0, "", 0, "2.6", false},
	{"m7g.xlarge", 4, 1, 16384, "arm64", "AWS", "0.1632", 0, "", 0, "2.6", false},
	{"r7i.large", 2, 2, 16384, "x86_64", "Intel", "0.1323", 0, "", 0, "3.2", false},
	{"r7i.xlarge", 4, 2, 32768, "x86_64", "Intel", "0.2646", 0, "", 0, "3.2", false},
	{"r7g.large", 2, 1, 16384, "arm64", "AWS", "0.1071", 0, "", 0, "2.6", false},
	{"g5.xlarge", 4, 2, 16384, "x86_64", "AMD", "1.006", 1, "A10G", 24576, "3.3", false},
	{"g5.12xlarge", 48, 2, 196608, "x86_64", "AMD", "5.672", 4, "A10G", 24576, "3.3", false},
	{"mac2.metal", 8, 1, 16384, "arm64_mac", "Apple", "0.65", 0, "", 0, "3.2", true},
}

func (t *instanceType) sequence() int {
	return 1 + slices.IndexFunc(instanceTypes, func(one instanceType) bool { return one.Name == t.Name })
}

func typeNamed(name string) *instanceType {
	for index := range instanceTypes {
		if instanceTypes[index].Name == name {
			return &instanceTypes[index]
		}
	}
	return nil
}

func (t *instanceType) family() string {
	family, _, _ := strings.Cut(t.Name, ".")
	return family
}

func (t *instanceType) metal() bool { return strings.Contains(t.Name, ".metal") }
func (t *instanceType) mac() bool   { return strings.HasPrefix(t.Name, "mac") }

// missingIn tells whether the zone doesn't have the type: the simulated region
// has Macs in its first zone only, and graphics in all but its last.
func (t *instanceType) missingIn(at zone) bool {
	return t.mac() && !strings.HasSuffix(at.Name, "a") || t.GPUs > 0 && strings.HasSuffix(at.Name, "c")
}

func (t *instanceType) quota(spot bool) string {
	switch {
	case t.mac():
		return MacHostQuota // held against when a host is allocated
	case t.GPUs > 0 && spot:
		return GraphicsSpotQuota
	case t.GPUs > 0:
		return GraphicsQuota
	case spot:
		return StandardSpotQuota
	}
	return StandardQuota
}

// spotPrice is a made-up share of the price on demand that differs by zone and
// turns with the hours, so that no test counts on one figure.
func (t *instanceType) spotPrice(zoneIndex int, at time.Time) string {
	full, err := strconv.ParseFloat(t.OnDemand, 64)
	if err != nil {
		panic("ec2sim: the price of " + t.Name + " is not a number: " + err.Error())
	}
	share := 0.34 + 0.03*float64(zoneIndex) + 0.01*float64(at.Hour()%4)
	return strconv.FormatFloat(full*share, 'f', 6, 64)
}

type typesAnswer struct {
	header
	Types     []typeXML `xml:"instanceTypeSet>item"`
	NextToken string    `xml:"nextToken,omitempty"`
}

type typeXML struct {
	Name       string       `xml:"instanceType"`
	Current    bool         `xml:"currentGeneration"`
	Usage      []string     `xml:"supportedUsageClasses>item"`
	Metal      bool         `xml:"bareMetal"`
	Hypervisor string       `xml:"hypervisor,omitempty"`
	Processor  processorXML `xml:"processorInfo"`
	CPU        cpuXML       `xml:"vCpuInfo"`
	Memory     sizeXML      `xml:"memoryInfo"`
	GPU        *gpusXML     `xml:"gpuInfo"`
	Hosts      bool         `xml:"dedicatedHostsSupported"`
	Burstable  bool         `xml:"burstablePerformanceSupported"`
}

type processorXML struct {
	Architectures []string `xml:"supportedArchitectures>item"`
	Clock         string   `xml:"sustainedClockSpeedInGhz"`
	Features      []string `xml:"supportedFeatures>item"`
	Maker         string   `xml:"manufacturer"`
}

type cpuXML struct {
	CPUs    int `xml:"defaultVCpus"`
	Cores   int `xml:"defaultCores"`
	Threads int `xml:"defaultThreadsPerCore"`
}

type sizeXML struct {
	MiB int `xml:"sizeInMiB"`
}

type gpusXML struct {
	GPUs  []gpuXML `xml:"gpus>item"`
	Total int      `xml:"totalGpuMemoryInMiB"`
}

type gpuXML struct {
	Name   string  `xml:"name"`
	Maker  string  `xml:"manufacturer"`
	Count  int     `xml:"count"`
	Memory sizeXML `xml:"memoryInfo"`
}

var typeFilters = attributes[*instanceType]{
	"instance-type": func(t *instanceType) []string { return []string{t.Name} },
	"bare-metal": func(t *instanceType) []string {
		return []string{strconv.FormatBool(t.metal())}
	},
	"current-generation":                    func(*instanceType) []string { return []string{"true"} },
	"processor-info.supported-architecture": func(t *instanceType) []string { return []string{t.Architecture} },
	"vcpu-info.default-vcpus":               func(t *instanceType) []string { return []string{strconv.Itoa(t.CPUs)} },
	"memory-info.size-in-mib":               func(t *instanceType) []string { return []string{strconv.Itoa(t.MiB)} },
}

func (s *Simulator) describeInstanceTypes(_ time.Time, request form) (answer, *apiError) {
	var all []*instanceType
	names := request.texts("InstanceType")
	for index := range instanceTypes {
		if one := &instanceTypes[index]; len(names) == 0 || slices.Contains(names, one.Name) {
			all = append(all, one)
		}
	}
	for _, name := range names {
		if typeNamed(name) == nil {
			return nil, refuse(400, "InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
		}
	}
	shown, token, refusal := show(s, "DescribeInstanceTypes", request, all, typeFilters, nil, 5, 100)
	if refusal != nil {
		return nil, refusal
	}
	answer := &typesAnswer{NextToken: token}
	for _, one := range shown {
		answer.Types = append(answer.Types, one.write())
	}
	return answer, nil
}

func (t *instanceType) write() typeXML {
	written := typeXML{Name: t.Name, Current: true, Usage: []string{"on-demand", "spot"}, Metal: t.metal(),
		Hypervisor: "nitro",
		Processor:  processorXML{Architectures: []string{t.Architecture}, Clock: t.Clock, Maker: t.Maker},
		CPU:        cpuXML{t.CPUs, t.CPUs / t.Threads, t.Threads}, Memory: sizeXML{t.MiB}, Hosts: true,
		Burstable: t.family() == "t3"}
	if t.onDemandOnly {
		written.Usage = []string{"on-demand"}
	}
	if t.metal() {
		written.Hypervisor = ""
	}
	if t.nestable() {
		written.Processor.Features = []string{"nested-virtualization"}
	}
	if t.GPUs > 0 {
		written.GPU = &gpusXML{[]gpuXML{{t.GPU, "NVIDIA", t.GPUs, sizeXML{t.GPUMiB}}}, t.GPUs * t.GPUMiB}
	}
	return written
}

// nestable tells whether the type runs virtual machines within its own.
func (t *instanceType) nestable() bool { return t.family() == "c8i" }
