package libvirt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// byHand does something to a domain as a person would.
func (l *lab) byHand(t *testing.T, name string, do func(*api.Libvirt, api.Domain) error) {
	t.Helper()
	l.do(t, func(c *api.Libvirt) error {
		domain, err := c.DomainLookupByName(name)
		if err == nil {
			err = do(c, domain)
		}
		return err
	})
}

func TestNothingThatAPersonDoesToAMachineKeepsItFromEnding(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	number := 0
	for name, do := range map[string]func(*api.Libvirt, api.Domain) error{
		"paused":                 func(c *api.Libvirt, d api.Domain) error { return c.DomainSuspend(d) },
		"saved":                  func(c *api.Libvirt, d api.Domain) error { return c.DomainManagedSave(d, 0) },
		"started with the host":  func(c *api.Libvirt, d api.Domain) error { return c.DomainSetAutostart(d, 1) },
		"undefined while it ran": func(c *api.Libvirt, d api.Domain) error { return c.DomainUndefine(d) },
		"off, and on again": func(c *api.Libvirt, d api.Domain) error {
			return errors.Join(c.DomainDestroy(d), c.DomainCreate(d))
		},
		"without its disk": func(_ *api.Libvirt, d api.Domain) error {
			return os.Remove(filepath.Join(l.dir, "pool", "inst."+d.Name+".qcow2"))
		},
		"without its disk, and the daemon knows": func(c *api.Libvirt, d api.Domain) error {
			pool, err := c.StoragePoolLookupByName("default")
			return errors.Join(os.Remove(filepath.Join(l.dir, "pool", "inst."+d.Name+".qcow2")), err,
				c.StoragePoolRefresh(pool, 0))
		},
	} {
		number++
		key := fmt.Sprintf("k%d", number)
		provision(t, p, key)
		l.byHand(t, key, do)
		if found := instances(list(t, p)); len(found) != 1 || found[0].Key != key {
			t.Errorf("%s: listed are %+v", name, found)
		}
		state, err := p.Terminate(t.Context(), provider.Ref{ID: "a/" + key, Key: key})
		if err != nil || state != provider.Gone {
			t.Errorf("%s: %v, %v", name, state, err)
		}
		if left := l.left(t); len(left) > 0 {
			t.Fatalf("%s: left are %v", name, left)
		}
	}
	for _, folder := range []string{"etc/qemu/autostart", "lib/qemu/save"} {
		if entries, _ := os.ReadDir(filepath.Join(l.dir, folder)); len(entries) > 0 {
			t.Errorf("left in %s: %v", folder, entries)
		}
	}
}

// A renamed domain is the machine itself, and its disk is under it.
func TestTheDiskOfAMachineThatWasRenamedStaysUnderIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	provision(t, p, "k1")
	l.byHand(t, "k1", func(c *api.Libvirt, d api.Domain) error {
		err := c.DomainDestroy(d)
		if err == nil {
			_, err = c.DomainRename(d, api.OptString{"other"}, 0)
		}
		if err == nil {
			d.Name = "other"
			err = c.DomainCreate(d)
		}
		return err
	})
	before := l.left(t)
	for _, ref := range []provider.Ref{{ID: "a/k1", Key: "k1"}, {Key: "k1"}, {ID: "a/other", Key: "k1"},
		{ID: "a/default/inst.k1.qcow2", Key: "k1"}} {
		if state, err := p.Terminate(t.Context(), ref); state != provider.Refused || err == nil ||
			!strings.Contains(err.Error(), "other") {
			t.Errorf("terminate %+v: %v, %v", ref, state, err)
		}
	}
	if left := l.left(t); !slices.Equal(left, before) || len(left) != 3 {
		t.Errorf("left are %v of %v", left, before)
	}
	l.byHand(t, "other", func(c *api.Libvirt, d api.Domain) error {
		return errors.Join(c.DomainDestroy(d), c.DomainUndefine(d))
	})
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
}

// Two hosts may have mounted the same folder. Each sees the volumes of both, and
// knows only its own domains.
func TestHostsThatShareAFolderLeaveEachOthersDisksAlone(t *testing.T) {
	t.Parallel()
	needLong(t)
	a, b := newLab(t), newLab(t)
	b.do(t, func(c *api.Libvirt) error {
		pool, err := c.StoragePoolDefineXML(
			fmt.Sprintf("<pool type='dir'><name>shared</name><target><path>%s/pool</path></target></pool>", a.dir), 0)
		return errors.Join(err, c.StoragePoolCreate(pool, 0))
	})
	blockB := b.blockHost("b")
	blockB.Pool = "shared"
	p := newTestHosts(t, a.blockHost("a"), blockB)
	onA := requestFor("k1", idle())
	onA.Instance.Hosts = []string{"a"}
	if _, err := p.Provision(t.Context(), onA); err != nil {
		t.Fatal(err)
	}
	b.do(t, func(c *api.Libvirt) error {
		pool, err := c.StoragePoolLookupByName("shared")
		return errors.Join(err, c.StoragePoolRefresh(pool, 0))
	})
	if part := list(t, p)["b/shared/inst.k1.qcow2"]; part.BelongsTo != "a/k1" {
		t.Errorf("the other host shows %+v", part)
	}
	for _, id := range []string{"b/shared/inst.k1.qcow2", "b/k1"} {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: id, Key: "k1"}); state != provider.Refused || err == nil {
			t.Errorf("terminate %s: %v, %v", id, state, err)
		}
	}
	if left := a.left(t); len(left) != 3 {
		t.Errorf("left are %v", left)
	}
	terminate(t, p, "", "k1")
	a.shouldBeEmpty(t)
}

// A machine whose process hangs answers nothing, and a call that waits for it ends
// its connection. Requests that run meanwhile must not lose their answers with it.
func TestAGuestThatHangsCostsNoOtherRequestItsAnswer(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	p := giving(t, plenty, newTestHosts(t, l.blockHost("a")))
	p.all[0].ending = giving(t, little, newTestHosts(t, l.blockHost("a"))).all[0].ending
	p.shutdown = 2 * little
	provision(t, p, "k1")
	if err := syscall.Kill(l.processOf(t, "k1"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var ending sync.WaitGroup
	ending.Go(func() {
		ended(t, p, "a/k1", "k1")
		close(over)
	})
	made := 0
	for ending := true; ending; made++ {
		key := fmt.Sprintf("m%d", made)
		provision(t, p, key)
		terminateAtOnce(t, p, key)
		select {
		case <-over:
			ending = false
		default:
		}
	}
	ending.Wait()
	if made < 2 {
		t.Errorf("%d machines were made while one hung", made)
	}
	l.shouldBeEmpty(t)
}

// terminateAtOnce doesn't wait for the guest, and asks again where the answer is
// missing.
func terminateAtOnce(t *testing.T, p *hosts, key string) {
	t.Helper()
	for range 20 {
		if state, err := p.Terminate(t.Context(), provider.Ref{ID: "a/" + key, Key: key, Force: true}); err == nil &&
			state == provider.Gone {
			return
		}
	}
	t.Fatalf("%s never ends", key)
}

func TestAPoolThatIsAllButFullTakesNoMachineAndNamesItsHost(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	folder := filepath.Join(l.dir, "tiny")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	l.tell(t, "full "+folder)
	l.do(t, func(c *api.Libvirt) error {
		pool, err := c.StoragePoolDefineXML(
			"<pool type='dir'><name>tiny</name><target><path>"+folder+"</path></target></pool>", 0)
		return errors.Join(err, c.StoragePoolCreate(pool, 0))
	})
	block := l.blockHost("a")
	block.Pool = "tiny"
	p := newTestHosts(t, block)
	_, err := p.Provision(t.Context(), requestFor("k1", idle()))
	detailed, _ := errors.AsType[*provider.Error](err)
	if !provider.IsNotCreated(err) || detailed.Class != provider.Capacity || detailed.Zone != "a" ||
		!strings.Contains(err.Error(), "8 MiB left") {
		t.Errorf("got %v", err)
	}
	l.shouldBeEmpty(t)
}

func TestAMachineThatIsOnlyDefinedWakesNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := newTestHosts(t, l.blockHost("a"))
	w := watch{hosts: p, host: p.all[0], known: map[string]api.DomainState{}}
	var heard []string
	w.heard = func(name string) { heard = append(heard, name) }
	look := func(name string) {
		t.Helper()
		if err := w.look(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	m := machine{key: "k1", instance: idle(), overlay: "/nowhere", seed: "/nowhere",
		record: record{Installation: "inst", Key: "k1", Created: time.Now()}}
	g, err := p.all[0].define(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	look("k1")
	if len(heard) > 0 {
		t.Errorf("a definition is heard of: %v", heard)
	}
	if err := g.mark(t.Context(), "started", startedSpace, time.Now()); err != nil {
		t.Fatal(err)
	}
	look("k1")
	terminate(t, p, "a/k1", "k1")
	look("k1")
	if !slices.Equal(heard, []string{"k1", "k1"}) {
		t.Errorf("of a start and an end is heard: %v", heard)
	}
}
