package libvirt

import (
	"context"
	"fmt"
	"time"

	api "github.com/digitalocean/go-libvirt"
	xmlform "libvirt.org/go/libvirtxml"

	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// host is one daemon with the pool that our volumes are in.
type host struct {
	*daemon.Daemon
	// ending is the same daemon over a connection of its own, for what a guest can
	// hold up: a machine whose process hangs must cost no call but those that end
	// machines.
	ending *daemon.Daemon
	name   string
	pool   string
	vcpus  int    // 0: as many as it has
	memory uint64 // 0: what it has, less what it needs itself
}

// Close ends the connections; a later call makes new ones.
func (h *host) Close() {
	h.Daemon.Close()
	h.ending.Close()
}

// spared is what a host keeps for itself where the block says nothing.
const spared = 1 << 30

// guest is one domain as it was seen.
type guest struct {
	metadata
	host   *host
	domain api.Domain
	xml    xmlform.Domain
	state  api.DomainState
	reason int32
}

// guests lists all domains of the host, also those of others: they use it too.
func (h *host) guests(ctx context.Context) ([]guest, error) {
	var domains []api.Domain
	err := h.Look(ctx, "list the domains", func(l *api.Libvirt) (err error) {
		domains, _, err = l.ConnectListAllDomains(1, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []guest
	for _, domain := range domains {
		g, err := h.read(ctx, domain)
		if daemon.IsNotFound(err) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		found = append(found, g)
	}
	return found, nil
}

// guest finds a domain by its name; nil: there is none.
func (h *host) guest(ctx context.Context, name string) (*guest, error) {
	var domain api.Domain
	err := h.Look(ctx, "look for the domain "+name, func(l *api.Libvirt) (err error) {
		domain, err = l.DomainLookupByName(name)
		return err
	})
	if daemon.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g, err := h.read(ctx, domain)
	if daemon.IsNotFound(err) {
		return nil, nil
	}
	return &g, err
}

// read takes what is stored of a domain, which is where our metadata is, and its
// state now.
func (h *host) read(ctx context.Context, domain api.Domain) (guest, error) {
	g := guest{host: h, domain: domain}
	var text string
	err := h.Look(ctx, "read the domain "+domain.Name, func(l *api.Libvirt) (err error) {
		if text, err = l.DomainGetXMLDesc(domain, api.DomainXMLInactive); err != nil {
			return err
		}
		state, reason, err := l.DomainGetState(domain, 0)
		g.state, g.reason = api.DomainState(state), reason
		return err
	})
	if err != nil {
		return guest{}, err
	}
	if err := g.xml.Unmarshal(text); err != nil {
		return guest{}, fmt.Errorf("read the domain %s on host %s: %w", domain.Name, h.name, err)
	}
	if g.xml.Metadata != nil {
		if g.metadata, err = readMetadata(g.xml.Metadata.XML); err != nil {
			return guest{},
				fmt.Errorf("read the domain %s on host %s: %w: correct it (virsh edit), or remove the domain; until then its "+
					"owner is unknown", domain.Name, h.name, err)
		}
	}
	return g, nil
}

// mark writes one of the marks into what is stored of the domain.
func (g *guest) mark(ctx context.Context, name, space string, since time.Time) error {
	return g.host.Change(ctx, fmt.Sprintf("mark the domain %s as %s", g.domain.Name, name), func(l *api.Libvirt) error {
		return l.DomainSetMetadata(g.domain, int32(api.DomainMetadataElement), api.OptString{encodeMark(name, since)},
			api.OptString{name}, api.OptString{space}, api.DomainAffectConfig)
	})
}

// off says whether nothing of the machine runs.
func (g *guest) off() bool { return g.state == api.DomainShutoff || g.state == api.DomainCrashed }

// needs is what the machine takes of its host: processors, and memory in bytes.
func (g *guest) needs() need {
	var n need
	if g.xml.VCPU != nil {
		n.vcpus = int(g.xml.VCPU.Value)
	}
	if m := g.xml.Memory; m != nil {
		n.memory = uint64(m.Value) << 10 // the daemon always answers in KiB
	}
	return n
}

// capacity is what all machines of the host may have together.
func (h *host) capacity(ctx context.Context) (need, error) {
	var memory uint64
	var processors int32
	err := h.Look(ctx, "ask for the size of the host", func(l *api.Libvirt) (err error) {
		_, memory, processors, _, _, _, _, _, err = l.NodeGetInfo()
		return err
	})
	if err != nil {
		return need{}, err
	}
	whole := need{vcpus: int(processors), memory: max(memory<<10, spared) - spared}
	if h.vcpus > 0 {
		whole.vcpus = h.vcpus
	}
	if h.memory > 0 {
		whole.memory = h.memory
	}
	return whole, nil
}

// capabilities are the parts of the daemon's that matter here.
type capabilities struct {
	kvm  bool // it can run x86_64 by the processor
	soft bool // it can run x86_64 in software
}

func (h *host) capabilities(ctx context.Context) (capabilities, error) {
	var text string
	err := h.Look(ctx, "ask what the host can", func(l *api.Libvirt) (err error) {
		text, err = l.ConnectGetCapabilities()
		return err
	})
	if err != nil {
		return capabilities{}, err
	}
	var said xmlform.Caps
	if err := said.Unmarshal(text); err != nil {
		return capabilities{}, fmt.Errorf("what host %s can do can't be read: %w", h.name, err)
	}
	var found capabilities
	for _, g := range said.Guests {
		if g.OSType != "hvm" || g.Arch.Name != "x86_64" {
			continue
		}
		for _, d := range g.Arch.Domains {
			found.kvm = found.kvm || d.Type == "kvm"
			found.soft = found.soft || d.Type == "qemu"
		}
	}
	return found, nil
}
