package libvirt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/libvirt/internal/daemon"
)

// lab is a libvirt daemon for one test, in namespaces of its own: it sees its
// own configuration and state where the machine's are, and everything that it
// starts ends with the test, however that ends.
type lab struct {
	dir    string
	start  string // the command that starts its daemon
	input  io.WriteCloser
	output *bufio.Reader
}

const qemuConf = `user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = []
namespaces = []
`

const libvirtdConf = `auth_unix_ro = "none"
auth_unix_rw = "none"
log_level = 3
`

// programs that a lab needs, and where Debian has them.
var programs = map[string]string{
	"libvirtd": "libvirt-daemon-system", "qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils",
}

// needLab skips the test where there can be no lab; in CI that is a failure.
func needLab(t *testing.T) {
	t.Helper()
	missing := ""
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing += fmt.Sprintf("%s is missing (Debian: apt-get install %s). ", program, pkg)
		}
	}
	if os.Geteuid() != 0 {
		missing += "Only root can give the daemon namespaces of its own. "
	}
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		t.Fatal(missing)
	default:
		t.Skip("SKIP: " + missing)
	}
}

// labCache keeps what daemons found out about QEMU, which takes them seconds, for
// the other labs of the run.
var labCache = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "labcache")
	if err != nil {
		panic(err)
	}
	return dir
})

// newLab starts a daemon with an empty pool "default".
func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabWith(t, func(string) string { return "" })
}

// newLabWith starts one that is configured besides as more says, given the lab's
// folder. Where that makes it listen on a port it has to be told so, too.
func newLabWith(t *testing.T, more func(dir string) string) *lab {
	t.Helper()
	needLab(t)
	dir, err := os.MkdirTemp("", "lab") // short: sockets live below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, folder := range []string{"etc", "lib", "run", "log", "pool"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	added := more(dir)
	for name, content := range map[string]string{"qemu.conf": qemuConf, "libvirtd.conf": libvirtdConf + added} {
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(labCache(), filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	c := labCommand(dir)
	c.Stderr = t.Output()
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	l := &lab{dir: dir, start: "start", input: input, output: bufio.NewReader(output)}
	if added != "" {
		l.start = "start --listen"
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = c.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(dir, "log", "daemon"))
			t.Logf("the daemon said:\n%s", said)
		}
	})
	l.tell(t, l.start)
	l.makePool(t)
	l.baseImage(t, "base.qcow2")
	return l
}

// makePool makes the pool "default".
func (l *lab) makePool(t *testing.T) {
	t.Helper()
	l.do(t, func(c *api.Libvirt) error {
		pool, err := c.StoragePoolDefineXML(
			fmt.Sprintf("<pool type='dir'><name>default</name><target><path>%s/pool</path></target></pool>", l.dir), 0)
		if err == nil {
			err = c.StoragePoolCreate(pool, 0)
		}
		if err == nil {
			_, err = c.ConnectGetCapabilities() // it tries each QEMU out before it can say
		}
		return err
	})
}

// tell has the lab's first process do something, and waits for it.
func (l *lab) tell(t *testing.T, command string) {
	t.Helper()
	if _, err := fmt.Fprintln(l.input, command); err != nil {
		t.Fatal(err)
	}
	if answer, err := l.output.ReadString('\n'); err != nil || strings.TrimSpace(answer) != strings.Fields(command)[0] {
		t.Fatalf("%s: the lab answered %q, %v", command, answer, err)
	}
	if command == l.start {
		eventually(t, "the daemon listens", func() bool {
			connection, err := net.Dial("unix", l.socket())
			if err == nil {
				_ = connection.Close()
			}
			return err == nil
		})
	}
}

func (l *lab) socket() string { return filepath.Join(l.dir, "run", "libvirt-sock") }

func (l *lab) uri() string { return "qemu:///system?socket=" + l.socket() }

// do works on the daemon behind the plugin's back, over a connection of its own.
func (l *lab) do(t *testing.T, call daemon.Call) {
	t.Helper()
	l.connect(t, call).Close()
}

// keep is do over a connection that stays until the test ends.
func (l *lab) keep(t *testing.T, call daemon.Call) {
	t.Helper()
	t.Cleanup(l.connect(t, call).Close)
}

func (l *lab) connect(t *testing.T, call daemon.Call) *daemon.Daemon {
	t.Helper()
	target, err := daemon.ParseTarget(l.uri())
	if err != nil {
		t.Fatal(err)
	}
	d := daemon.New("lab", target, daemon.Limits{Connect: 30 * time.Second, Call: time.Minute})
	if err := d.Change(context.WithoutCancel(t.Context()), "work in the lab", call); err != nil {
		t.Fatal(err)
	}
	return d
}

// baseImage makes a volume that machines are made from. Nothing is in it: its
// machines find nothing to boot and idle.
func (l *lab) baseImage(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", filepath.Join(l.dir, "pool", name),
		"16M").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l.do(t, func(c *api.Libvirt) error {
		pool, err := c.StoragePoolLookupByName("default")
		if err == nil {
			err = c.StoragePoolRefresh(pool, 0)
		}
		return err
	})
}

// left is everything in the lab that isn't the base image: domains, volumes and
// NVRAM, as the daemon and as the disk has them.
func (l *lab) left(t *testing.T) []string {
	t.Helper()
	var all []string
	l.do(t, func(c *api.Libvirt) error {
		domains, _, err := c.ConnectListAllDomains(1, 0)
		for _, d := range domains {
			all = append(all, "domain "+d.Name)
		}
		return err
	})
	for _, folder := range []string{"pool", "lib/qemu/nvram"} {
		entries, _ := os.ReadDir(filepath.Join(l.dir, folder))
		for _, entry := range entries {
			if entry.Name() != "base.qcow2" {
				all = append(all, folder+"/"+entry.Name())
			}
		}
	}
	return all
}

func (l *lab) shouldBeEmpty(t *testing.T) {
	t.Helper()
	if left := l.left(t); len(left) > 0 {
		t.Errorf("left in the lab: %v", left)
	}
}

// blockHost is a host of the provider block.
func (l *lab) blockHost(name string) Host {
	return Host{Name: name, URI: l.uri(), Pool: "default", VCPUs: 64, Memory: "64GiB"}
}

// newTestHosts is the provider for some hosts, with a short temper.
func newTestHosts(t *testing.T, blocks ...Host) *hosts {
	t.Helper()
	return newHostsIn(t, "", blocks...)
}

func newHostsIn(t *testing.T, stateDir string, blocks ...Host) *hosts {
	t.Helper()
	config := Config{Hosts: blocks, CallTimeout: 30 * time.Second, Shutdown: 0}
	if found := config.Validate(); len(found) > 0 {
		t.Fatal(found)
	}
	made, err := newHosts(t.Context(), config,
		provider.Environment{Installation: "inst", StateDir: stateDir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*hosts)
	t.Cleanup(func() {
		for _, h := range p.all {
			h.Close()
		}
	})
	return p
}

// idle is the instance block of a machine that finds nothing to boot.
func idle() Instance {
	return Instance{VCPUs: 1, Memory: "64MiB", Network: "user", Machine: "pc", Firmware: "bios", Emulation: "always"}
}

func requestFor(key string, instance Instance) provider.ProvisionRequest[Instance] {
	return provider.ProvisionRequest[Instance]{
		Key: key, Name: "linux-" + key, Fleet: "linux", Image: "pool:default/base.qcow2", InstanceDigest: "digest-1",
		Tags: map[string]string{"forgeyard-installation": "inst", "forgeyard-key": key, "forgeyard-proof": "v1-x"},
		Bootstrap: bootstrap.Document{
			Kind: bootstrap.KindFile, ManagerURL: "https://10.0.2.2:7443", ServerName: "manager.inst", Token: "tok-secret",
			CAFingerprint: "sha256:" + strings.Repeat("ab", 32),
		},
		Instance: instance,
	}
}

// provision must succeed.
func provision(t *testing.T, p *hosts, key string) provider.Resource {
	t.Helper()
	resource, err := p.Provision(t.Context(), requestFor(key, idle()))
	if err != nil {
		t.Fatalf("provision %s: %v", key, err)
	}
	return resource
}

// terminate must remove it.
func terminate(t *testing.T, p *hosts, id, key string) {
	t.Helper()
	state, err := p.Terminate(context.WithoutCancel(t.Context()), provider.Ref{ID: id, Key: key})
	if err != nil || state != provider.Gone {
		t.Fatalf("terminate %s: %v, %v", id, state, err)
	}
}

// list must be complete; it gives the resources by id.
func list(t *testing.T, p *hosts) map[string]provider.Resource {
	t.Helper()
	found := map[string]provider.Resource{}
	for resource, err := range p.Inspect(t.Context(), provider.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found[resource.ID] = resource
	}
	return found
}

// instances are those of a list.
func instances(listed map[string]provider.Resource) []provider.Resource {
	var all []provider.Resource
	for _, resource := range listed {
		if resource.Kind == "" {
			all = append(all, resource)
		}
	}
	return all
}

// eventually polls a condition that no event tells of.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func asError(err error, to **provider.Error) bool { return errors.As(err, to) }
