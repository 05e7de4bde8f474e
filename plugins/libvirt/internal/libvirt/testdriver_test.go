package libvirt

import (
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// libvirt's own test driver has simulated machines. It has no upload, so
// nothing can be made on it; everything that only looks and removes works.
func (l *lab) testDriver() Host {
	return Host{Name: "a", URI: "test:///default?socket=" + l.socket(), Pool: "default-pool", VCPUs: 64, Memory: "64GiB"}
}

func TestTheTestDriverKeepsTheRulesThatMakeNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	block := l.testDriver()
	providertest.Run(t, Plugin("0.1.0"), providertest.Options{
		Provider: map[string]any{"host": []any{map[string]any{"name": block.Name, "uri": block.URI, "pool": block.Pool}}},
		Instance: map[string]any{"network": "user", "machine": "pc", "emulation": "always"},
		Image:    "pool:default-pool/base.qcow2", OS: "linux", Arch: "x86_64", Patience: time.Minute,
	})
}

// The drivers of libvirt don't agree on the code for one and the same condition,
// so a machine's end goes by what is seen and not by codes.
func TestAMachineEndsAlikeOnDriversWithOtherCodes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	record := `<metadata><o:instance xmlns:o="urn:forgeyard-fleet:instance" installation="inst" key="k1" created="2026-01-02T03:04:05Z"/></metadata>`
	codes := map[string]map[string]api.ErrorNumber{}
	for name, block := range map[string]Host{"qemu": l.blockHost("a"), "test": l.testDriver()} {
		p := newTestHosts(t, block)
		said := map[string]api.ErrorNumber{}
		codes[name] = said
		text := foreign("k1", record)
		if name == "test" {
			text = `<domain type='test'><name>k1</name><memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type>hvm</type></os>` +
				record + `</domain>`
		}
		h := p.all[0]
		if err := h.Change(t.Context(), "define", func(c *api.Libvirt) error {
			domain, err := c.DomainDefineXMLFlags(text, 0)
			if err != nil {
				return err
			}
			said["shut down what is off"] = daemon.Said(c.DomainShutdown(domain))
			said["press the button of what is off"] = daemon.Said(c.DomainShutdownFlags(domain, api.DomainShutdownAcpiPowerBtn))
			said["power off what is off"] = daemon.Said(c.DomainDestroyFlags(domain, 0))
			_, err = c.DomainDefineXMLFlags(text, 0)
			said["define a name twice"] = daemon.Said(err)
			return c.DomainCreate(domain)
		}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		terminate(t, p, "a/k1", "k1")
		if left := list(t, p); len(left) > 0 {
			t.Errorf("%s: left are %v", name, left)
		}
	}
	differ := false
	for what, code := range codes["qemu"] {
		differ = differ || codes["test"][what] != code
	}
	if !differ {
		t.Errorf("the drivers agree now: %v", codes)
	}
}
