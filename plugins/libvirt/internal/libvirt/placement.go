package libvirt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// need is an amount of what hosts have: processors, and memory in bytes.
type need struct {
	vcpus  int
	memory uint64
}

func (n need) plus(m need) need { return need{n.vcpus + m.vcpus, n.memory + m.memory} }

// fits says whether m more is within the whole n when used is taken.
func (n need) fits(used, m need) bool {
	return used.vcpus+m.vcpus <= n.vcpus && used.memory+m.memory <= n.memory
}

// room is what a host has left.
type room struct {
	host        *host
	whole, used need
	ours        int             // machines of the installation
	keys        map[string]bool // of these
	devices     map[string]bool // handed to a machine
	err         error           // it can't be seen
}

// times is how many machines of the need still fit.
func (r room) times(n need) int {
	if r.whole.vcpus < r.used.vcpus || r.whole.memory < r.used.memory || n.vcpus <= 0 || n.memory == 0 {
		return 0
	}
	return min((r.whole.vcpus-r.used.vcpus)/n.vcpus, int((r.whole.memory-r.used.memory)/n.memory))
}

// rooms looks at every host at once.
func (p *hosts) rooms(ctx context.Context) []room {
	rooms := make([]room, len(p.all))
	var looking sync.WaitGroup
	for n, h := range p.all {
		looking.Go(func() { rooms[n] = p.room(ctx, h) })
	}
	looking.Wait()
	return rooms
}

// room counts every machine that runs, of any owner, and ours also when off.
func (p *hosts) room(ctx context.Context, h *host) room {
	r := room{host: h, devices: map[string]bool{}, keys: map[string]bool{}}
	if r.whole, r.err = h.capacity(ctx); r.err != nil {
		return r
	}
	var guests []guest
	if guests, r.err = h.guests(ctx); r.err != nil {
		return r
	}
	for _, g := range guests {
		ours := g.record != nil && g.record.Installation == p.installation
		if g.off() && !ours {
			continue
		}
		r.used = r.used.plus(g.needs())
		if ours {
			r.ours++
			r.keys[g.record.Key] = true
		}
		for _, device := range g.devices() {
			r.devices[device] = true
		}
	}
	return r
}

// place chooses the host with room that has the fewest machines of ours, and
// promises the room to the key. A host that can't be seen is passed over: before a
// request is sent again, the manager has seen every host without its machine.
//
// Offers are in the manager's order: the first host with room is taken.
func (p *hosts) place(ctx context.Context, key string, instance Instance, offers []provider.Offer) (*host, error) {
	n, err := needOf(instance)
	if err != nil {
		return nil, provider.NotCreated(provider.Invalid, err)
	}
	wanted, devices := instance.Hosts, addresses(instance.Devices)
	var ordered []string
	for _, offer := range offers {
		ordered = append(ordered, offer.Zone)
	}
	since := p.placement.lookBegins()
	rooms := p.rooms(ctx)
	p.placement.mutex.Lock()
	defer p.placement.mutex.Unlock()
	defer p.placement.lookEnds(since)
	if tried := p.placement.tried[key]; tried != nil {
		for _, r := range rooms {
			if r.host == tried && r.err != nil {
				return nil, fmt.Errorf("host %s may have made the machine before and can't be asked: %w", tried.name, r.err)
			}
		}
	}
	fitting, reasons, hidden := p.placement.fitting(rooms, since, n, devices, func(name string) bool {
		return (len(wanted) == 0 || slices.Contains(wanted, name)) && (len(ordered) == 0 || slices.Contains(ordered, name))
	})
	if len(fitting) == 0 {
		return nil, noRoom(n, reasons, hidden, offers)
	}
	slices.SortStableFunc(fitting, func(a, b room) int {
		return cmp.Or(
			cmp.Compare(slices.Index(ordered, a.host.name), slices.Index(ordered, b.host.name)),
			cmp.Compare(a.ours, b.ours), cmp.Compare(b.times(n), a.times(n)))
	})
	chosen := fitting[0].host
	p.placement.promised[key] = promise{host: chosen, need: n, devices: devices}
	return chosen, nil
}

// fitting are the rooms that may be used and have what is needed; of the others it
// gives the reasons why not, and what hides them. The mutex is held.
func (p *placement) fitting(rooms []room, since int, n need, devices []string, mayBeUsed func(name string) bool) (
	fitting []room, reasons []string, hidden []error) {
	for _, r := range rooms {
		p.withPromises(&r, since)
		reason := ""
		switch taken := slices.IndexFunc(devices, func(d string) bool { return r.devices[d] }); {
		case !mayBeUsed(r.host.name):
			continue
		case r.err != nil:
			hidden = append(hidden, r.err)
			reason = r.err.Error()
		case !r.whole.fits(r.used, n):
			reason = fmt.Sprintf("%d of %d processors and %s of %s memory are taken", r.used.vcpus, r.whole.vcpus,
				showSize(r.used.memory), showSize(r.whole.memory))
		case taken >= 0:
			reason = "another machine has the device " + devices[taken]
		default:
			fitting = append(fitting, r)
			continue
		}
		reasons = append(reasons, "host "+r.host.name+": "+reason)
	}
	return fitting, reasons, hidden
}

func noRoom(n need, reasons []string, hidden []error, offers []provider.Offer) error {
	class := provider.Capacity
	if len(hidden) == len(reasons) && len(hidden) > 0 {
		class = classOf(errors.Join(hidden...))
	}
	if len(reasons) == 0 {
		return provider.NotCreated(provider.Invalid,
			errors.New("none of the hosts that the fleet names is in the provider block"))
	}
	short := &provider.Error{
		Err: fmt.Errorf("no host has room for %d processors and %s of memory: %s", n.vcpus, showSize(n.memory),
			strings.Join(reasons, "; "))}
	if len(offers) > 0 {
		short.Zone, short.MachineType = offers[0].Zone, offers[0].MachineType
	}
	return provider.NotCreated(class, short)
}

// needOf is what a machine of the block takes.
func needOf(instance Instance) (need, error) {
	memory, err := parseSize(instance.Memory)
	return need{instance.VCPUs, memory}, err
}

func addresses(devices []Device) []string {
	var all []string
	for _, d := range devices {
		all = append(all, d.PCI+d.USB) // it has one of them
	}
	return all
}

// devices are the addresses of what is handed to the machine.
func (g *guest) devices() []string {
	var all []string
	if g.xml.Devices == nil {
		return nil
	}
	for _, d := range g.xml.Devices.Hostdevs {
		switch {
		case d.SubsysPCI != nil && d.SubsysPCI.Source != nil && d.SubsysPCI.Source.Address != nil:
			a := d.SubsysPCI.Source.Address
			all = append(all,
				fmt.Sprintf("%04x:%02x:%02x.%x", number(a.Domain), number(a.Bus), number(a.Slot), number(a.Function)))
		case d.SubsysUSB != nil && d.SubsysUSB.Source != nil && d.SubsysUSB.Source.Vendor != nil &&
			d.SubsysUSB.Source.Product != nil:
			all = append(all,
				strings.TrimPrefix(d.SubsysUSB.Source.Vendor.ID, "0x")+":"+strings.TrimPrefix(d.SubsysUSB.Source.Product.ID, "0x"))
		}
	}
	return all
}

func number(n *uint) uint {
	if n == nil {
		return 0
	}
	return *n
}
