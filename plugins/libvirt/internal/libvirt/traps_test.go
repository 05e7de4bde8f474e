package libvirt

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// findDomain is the domain behind the plugin's back.
func (l *lab) xmlOf(t *testing.T, name string) string {
	t.Helper()
	var text string
	l.do(t, func(c *api.Libvirt) error {
		domain, err := c.DomainLookupByName(name)
		if err == nil {
			text, err = c.DomainGetXMLDesc(domain, api.DomainXMLInactive)
		}
		return err
	})
	return text
}

// define makes a domain as a foreign would.
func (l *lab) define(t *testing.T, text string) {
	t.Helper()
	l.do(t, func(c *api.Libvirt) error {
		_, err := c.DomainDefineXMLFlags(text, 0)
		return err
	})
}

const strange = `<domain type='qemu'><name>NAME</name><memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type arch='x86_64' machine='pc'>hvm</type></os>METADATA</domain>`

func foreign(name, metadata string) string {
	return strings.NewReplacer("NAME", name, "METADATA", metadata).Replace(strange)
}

func TestForeignDomainsAreReportedAndUntouched(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	provision(t, p, "k1")
	l.define(t, foreign("somebodys", ""))
	l.define(t, foreign("others",
		`<metadata><o:instance xmlns:o="urn:forgeyard-fleet:instance" installation="other" key="others" created="2026-01-02T03:04:05Z"/></metadata>`))
	l.define(t, foreign("k2",
		`<metadata><o:instance xmlns:o="urn:forgeyard-fleet:instance" installation="inst" key="k2" created="2026-01-02T03:04:05Z"><o:tag name="forgeyard-key" value="k2"/></o:instance></metadata>`))
	// As virt-clone makes it: all of ours under another name.
	copied := l.xmlOf(t, "k1")
	from, to := strings.Index(copied, "<uuid>"), strings.Index(copied, "</uuid>")
	copied = strings.Replace(copied[:from]+copied[to+len("</uuid>"):], "<name>k1</name>", "<name>k1-clone</name>", 1)
	l.define(t, copied)

	listed := list(t, p)
	if _, seen := listed["a/somebodys"]; seen || listed["a/others"].ID != "" {
		t.Errorf("a foreign's domain is listed: %v", listed)
	}
	if unproven := listed["a/k2"]; unproven.Key != "k2" || unproven.Tags["forgeyard-proof"] != "" ||
		unproven.Tags["forgeyard-key"] != "k2" {
		t.Errorf("a domain with our tags and no proof is shown as %+v", unproven)
	}
	if clone := listed["a/k1-clone"]; clone.Key != "k1" || clone.Tags["forgeyard-proof"] == "" ||
		!strings.Contains(clone.Detail, "copy of k1") {
		t.Errorf("a clone is shown as %+v: the manager must see two of one key", clone)
	}
	for id, key := range map[string]string{"a/somebodys": "", "a/others": "others", "a/k1-clone": "k1", "a/k2": "k9"} {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: key}); state != provider.Refused || err == nil {
			t.Errorf("terminate %s as %q: %v, %v", id, key, state, err)
		}
	}
	for _, key := range []string{"somebodys", "others"} {
		if _, err := p.Provision(t.Context(), requestFor(key, idle())); !provider.IsNotCreated(err) ||
			!strings.Contains(err.Error(), "isn't an instance") {
			t.Errorf("a key that is a foreign's name: %v", err)
		}
	}
	terminate(t, p, "a/k1", "k1")
	left := l.left(t)
	slices.Sort(left)
	if left := strings.Join(left, ","); left != "domain k1-clone,domain k2,domain others,domain somebodys" {
		t.Errorf("left are %s", left)
	}
}

// The condition is the same and each driver, and each kind of object, has another
// code for it.
func TestNotFoundHasACodeForEachKindOfObject(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	codes := map[api.ErrorNumber]bool{}
	for name, look := range map[string]daemon.Call{
		"domain":   func(c *api.Libvirt) error { _, err := c.DomainLookupByName("no"); return err },
		"network":  func(c *api.Libvirt) error { _, err := c.NetworkLookupByName("no"); return err },
		"pool":     func(c *api.Libvirt) error { _, err := c.StoragePoolLookupByName("no"); return err },
		"metadata": func(c *api.Libvirt) error { return noMetadata(c) },
		"volume": func(c *api.Libvirt) error {
			pool, err := c.StoragePoolLookupByName("default")
			if err == nil {
				_, err = c.StorageVolLookupByName(pool, "no")
			}
			return err
		},
	} {
		var err error
		if name == "metadata" {
			l.define(t, foreign("bare", ""))
		}
		l.do(t, func(c *api.Libvirt) error { err = look(c); return nil })
		if !daemon.IsNotFound(err) {
			t.Errorf("%s: %v (%d) isn't taken for not found", name, err, daemon.Said(err))
		}
		codes[daemon.Said(err)] = true
	}
	if len(codes) < 5 {
		t.Errorf("the codes are %v", codes)
	}
}

func noMetadata(c *api.Libvirt) error {
	domain, err := c.DomainLookupByName("bare")
	if err == nil {
		_, err = c.DomainGetMetadata(domain, int32(api.DomainMetadataElement), api.OptString{recordSpace},
			api.DomainAffectConfig)
	}
	return err
}

// The daemon's own call for metadata loses the namespace that a reader goes by, so
// ours reads the whole definition.
func TestMetadataIsReadWithItsNamespaceAndByAnyPrefix(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	provision(t, p, "k1")
	var only string
	l.do(t, func(c *api.Libvirt) error {
		domain, err := c.DomainLookupByName("k1")
		if err == nil {
			only, err = c.DomainGetMetadata(domain, int32(api.DomainMetadataElement), api.OptString{recordSpace},
				api.DomainAffectConfig)
		}
		return err
	})
	if found, err := readMetadata(only); err != nil || found.record != nil {
		t.Errorf("the daemon gives the namespace now; read it there: %s", only)
	}
	g, err := p.all[0].guest(t.Context(), "k1")
	if err != nil || g.record == nil || !g.started || g.record.Key != "k1" {
		t.Errorf("got %+v, %v", g, err)
	}
	for _, content := range []string{
		`<x:instance xmlns:x="urn:forgeyard-fleet:instance" key="k1" created="2026-01-02T03:04:05Z"><x:tag name="a" value="b"/></x:instance>`,
		`<instance xmlns="urn:forgeyard-fleet:instance" key="k1" created="2026-01-02T03:04:05Z"><tag name="a" value="b"/></instance><z xmlns="urn:other"/>`,
	} {
		if found, err := readMetadata(content); err != nil || found.record == nil || found.record.tags()["a"] != "b" {
			t.Errorf("%s: %+v, %v", content, found, err)
		}
	}
	if _, err := readMetadata(`<instance xmlns="urn:forgeyard-fleet:instance"`); err == nil {
		t.Error("half an element was read")
	}
	terminate(t, p, "a/k1", "k1")
}

// A volume may hold another format than it was made with: an upload or a copy
// writes it as it comes, and the daemon doesn't look until its pool is refreshed.
func TestAnImageIsTakenForWhatItsContentIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	content, err := os.ReadFile(filepath.Join(l.dir, "pool", "base.qcow2"))
	if err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]struct {
		as, holds string
		content   []byte
	}{"raw-over-qcow2": {"qcow2", "raw", bytes.Repeat([]byte("x"), 1<<20)}, "qcow2-over-raw": {"raw", "qcow2", content}} {
		l.do(t, func(c *api.Libvirt) error {
			pool, err := c.StoragePoolLookupByName("default")
			if err != nil {
				return err
			}
			volume := ownVolume(name, made.as, 16<<20)
			text, err := volume.Marshal()
			if err == nil {
				_, err = c.StorageVolCreateXML(pool, text, 0)
			}
			return err
		})
		if err := os.WriteFile(filepath.Join(l.dir, "pool", name), made.content, 0o600); err != nil {
			t.Fatal(err)
		}
		request := requestFor("k1", idle())
		request.Image = "pool:default/" + name
		if _, err := p.Provision(t.Context(), request); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := exec.Command("qemu-img", "info", "-U", filepath.Join(l.dir, "pool", "inst.k1.qcow2")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "backing file format: "+made.holds) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		terminate(t, p, "a/k1", "k1")
	}
}

// The seed is raw, and an overlay is never uploaded to: what the disk has is what
// was meant.
func TestTheVolumesAreWhatTheirNamesSay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	request := requestFor("k1", idle())
	request.Instance.Disk = "64MiB"
	if _, err := p.Provision(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("qemu-img", "info", "-U", filepath.Join(l.dir, "pool", "inst.k1.qcow2")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "file format: qcow2") || !strings.Contains(string(out), "64 MiB") ||
		!strings.Contains(string(out), "base.qcow2") {
		t.Errorf("the disk: %v\n%s", err, out)
	}
	path := filepath.Join(l.dir, "pool", "inst.k1.seed.iso")
	content, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(content, []byte("CD001")) || !bytes.Contains(content, []byte("tok-secret")) {
		t.Errorf("the seed isn't one, %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the seed can be read by others: %v, %v", info.Mode(), err)
	}
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
}

func TestAMachineWithUEFILeavesNoNVRAM(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if _, err := os.Stat("/usr/share/OVMF/OVMF_CODE.fd"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("OVMF is missing (Debian: apt-get install ovmf)")
		}
		t.Skip("SKIP: OVMF is missing (Debian: apt-get install ovmf)")
	}
	p := newTestHosts(t, l.blockHost("a"))
	request := requestFor("k1", idle())
	request.Instance.Firmware, request.Instance.Machine, request.Instance.Memory = "uefi", "q35", "128MiB"
	if _, err := p.Provision(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if part := list(t, p)["a/nvram/k1"]; part.Kind != kindNVRAM || part.BelongsTo != "a/k1" ||
		!strings.Contains(part.ID, part.Key) {
		t.Errorf("the NVRAM is listed as %+v", part)
	}
	if left := strings.Join(l.left(t), ","); !strings.Contains(left, "lib/qemu/nvram/") {
		t.Errorf("the machine has %s", left)
	}
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
}

// What is left of a machine whose domain a person removed has its name, and goes
// by itself; while the domain is there it stays.
func TestAVolumeWithoutItsDomainIsListedAndRemovedByItself(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	provision(t, p, "k1")
	if state, err := p.Terminate(t.Context(),
		provider.Ref{ID: "a/default/inst.k1.qcow2", Key: "k1"}); state != provider.Refused || err == nil {
		t.Errorf("the disk of a machine that runs: %v, %v", state, err)
	}
	l.do(t, func(c *api.Libvirt) error {
		domain, err := c.DomainLookupByName("k1")
		if err == nil {
			err = c.DomainDestroy(domain)
		}
		if err == nil {
			err = c.DomainUndefine(domain)
		}
		return err
	})
	if part := list(t, p)["a/default/inst.k1.seed.iso"]; part.Kind != kindSeed || part.BelongsTo != "a/k1" ||
		part.Key != "k1" {
		t.Errorf("a seed without its machine is listed as %+v", part)
	}
	if state, err := p.Terminate(t.Context(),
		provider.Ref{ID: "a/default/inst.k1.qcow2", Key: "k2"}); state != provider.Refused || err == nil {
		t.Errorf("under another key: %v, %v", state, err)
	}
	terminate(t, p, "a/default/inst.k1.qcow2", "k1")
	terminate(t, p, "a/default/inst.k1.seed.iso", "k1")
	l.shouldBeEmpty(t)
}

// A machine that ran and is off is never started again: its token is spent.
func TestAMachineThatWentOffIsShownStoppedAndNotStartedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	provision(t, p, "k1")
	l.do(t, func(c *api.Libvirt) error {
		domain, err := c.DomainLookupByName("k1")
		if err == nil {
			err = c.DomainDestroy(domain)
		}
		return err
	})
	if again, err := p.Provision(t.Context(), requestFor("k1", idle())); err != nil || !again.Existed ||
		again.State != provider.Stopped {
		t.Errorf("the same key again: %+v, %v", again, err)
	}
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
}

func TestAHostThatLeftTheBlockWithMachinesMakesNothingLookGone(t *testing.T) {
	t.Parallel()
	a, b := newLab(t), newLab(t)
	state := t.TempDir()
	both := newHostsIn(t, state, a.blockHost("a"), b.blockHost("b"))
	onA := requestFor("k1", idle())
	onA.Instance.Hosts = []string{"a"}
	if _, err := both.Provision(t.Context(), onA); err != nil {
		t.Fatal(err)
	}
	complaint := func(p *hosts) string {
		for _, err := range p.Inspect(t.Context(), provider.Query{}) {
			if err != nil {
				return err.Error()
			}
		}
		return ""
	}
	if said := complaint(newHostsIn(t, state, b.blockHost("b"))); !strings.Contains(said,
		"host a is no longer in the block") {
		t.Errorf("without the host: %q", said)
	}
	if said := complaint(newHostsIn(t, state, Host{Name: "a", URI: b.uri(), Pool: "default"})); !strings.Contains(said,
		"another one now") {
		t.Errorf("with the name on another host: %q", said)
	}
	again := newHostsIn(t, state, a.blockHost("a"), b.blockHost("b"))
	if said := complaint(again); said != "" {
		t.Errorf("with both again: %q", said)
	}
	terminate(t, again, "a/k1", "k1")
	list(t, again)
	if said := complaint(newHostsIn(t, state, b.blockHost("b"))); said != "" {
		t.Errorf("once its machines are gone: %q", said)
	}
}
