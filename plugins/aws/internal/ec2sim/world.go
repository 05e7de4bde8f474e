package ec2sim

import (
	"fmt"
	"maps"
)

// world is what the account holds. A fresh one has three zones, a subnet and
// no instance in each, one security group, an image of each architecture, and
// all the instance types of the table.
type world struct {
	sequence   int
	zones      []zone
	subnets    []*subnet
	groups     []*securityGroup
	images     []*image
	instances  []*instance
	volumes    []*volume
	interfaces []*networkInterface
	spots      []*spotRequest
	tokens     map[string]*launch // by client token
	rooms      map[Market]int     // how many more start where SetCapacity was called
	quotas     map[string]int     // by quota code; absent is without limit
	templates  []*template
	hosts      []*host
	queues     []*queue
	sessions   map[string][2]string // role and name, by access key
	hostRooms  map[Market]int       // as rooms, of hosts
}

type zone struct {
	number   int
	Name, ID string
}

func (z zone) sequence() int { return z.number }

type subnet struct {
	number    int
	ID, VPC   string
	Zone      zone
	CIDR      string
	Addresses int // free
}

func (n *subnet) sequence() int { return n.number }

type securityGroup struct {
	number             int
	ID, Name, VPC, Say string
}

func (g *securityGroup) sequence() int { return g.number }

type image struct {
	number                      int
	ID, Name, Owner             string
	Architecture, RootDevice    string
	RootSnapshot, Platform      string
	RootSize                    int // GiB
	State, Created, Description string
	Tags                        map[string]string
}

func (i *image) sequence() int { return i.number }

const vpcID = "vpc-0a000000000000001"

func newWorld(options Options) world {
	w := world{tokens: map[string]*launch{}, rooms: map[Market]int{}, quotas: map[string]int{},
		hostRooms: map[Market]int{}, sessions: map[string][2]string{}}
	for index, letter := range []string{"a", "b", "c"} {
		at := zone{number: w.next(), Name: options.Region + letter, ID: fmt.Sprintf("use1-az%d", index+1)}
		w.zones = append(w.zones, at)
		w.subnets = append(w.subnets, &subnet{number: w.next(), ID: fmt.Sprintf("subnet-0a00000000000000%d", index+1),
			VPC: vpcID, Zone: at, CIDR: fmt.Sprintf("10.0.%d.0/20", index*16), Addresses: 4091})
	}
	w.groups = append(w.groups,
		&securityGroup{number: w.next(), ID: "sg-0a000000000000001", Name: "runners", VPC: vpcID,
			Say: "machines that run jobs"})
	for _, one := range []image{
		{ID: "ami-0a000000000000001", Name: "runner-ubuntu-24.04-amd64-20261101", Architecture: "x86_64"},
		{ID: "ami-0a000000000000002", Name: "runner-ubuntu-24.04-arm64-20261101", Architecture: "arm64"},
		{ID: "ami-0a000000000000003", Name: "runner-macos-15-arm64-20261101", Architecture: "arm64_mac"},
	} {
		one.number, one.Owner, one.State = w.next(), options.Account, "available"
		one.RootDevice, one.RootSize, one.RootSnapshot = "/dev/sda1", 8, "snap-0a"+one.ID[6:]
		one.Platform, one.Created, one.Description = "Linux/UNIX", "2026-11-01T06:00:00.000Z", "made by the simulator"
		w.images = append(w.images, &one)
	}
	return w
}

func (w *world) next() int {
	w.sequence++
	return w.sequence
}

// id makes an id in the API's form. Ids are scattered, not counted up, so that
// code which takes their order for the order of starting fails.
func (w *world) id(prefix string, number int) string {
	spread := uint64(number) * 0x9e3779b97f4a7c15
	spread ^= spread >> 29
	return fmt.Sprintf("%s-0%016x", prefix, spread)
}

// copyTags never gives nil.
func copyTags(tags map[string]string) map[string]string {
	copied := map[string]string{}
	maps.Copy(copied, tags)
	return copied
}
