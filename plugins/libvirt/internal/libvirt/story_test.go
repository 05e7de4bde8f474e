package libvirt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"
)

// needLong skips what takes minutes where plain `go test` runs it.
func needLong(t *testing.T) {
	t.Helper()
	if os.Getenv("E2E") == "" && os.Getenv("CI") == "" {
		t.Skip("SKIP: this takes a while; make test runs it, or go test with E2E=1")
	}
}

const storyFile = `forgeyard {
  installation = "inst"

  manager {
    listen = "127.0.0.1:@PORT@"
  }

  required_plugins {
    libvirt = { source = "ghcr.io/forgeyard/fleet-libvirt", version = "~> 0.1" }
  }
}

provider "libvirt" "lab" {
  advertise = "https://10.0.2.2:@PORT@"
  shutdown  = "60s"

  host {
    name = "a"
    uri  = "@URI@"
  }
}

image "guest" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "file"
  refs      = { libvirt = "pool:default/base.qcow2" }
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 1
    memory = "256MiB"
  }
}
`

const storyFleet = `
fleet "guests" {
  capacity_class = capacity_class.small
  image          = image.guest
  provider       = provider.libvirt.lab

  instance {
    vcpus        = 1
    memory       = "256MiB"
    network      = "user"
    emulation    = "@EMULATION@"
    kernel       = "@GUEST@/vmlinuz"
    initrd       = "@GUEST@/initrd"
    command_line = "console=ttyS0 quiet panic=1"
  }

  scaling {
    min = 1
    max = 1
  }

  runner {
    command = ["sh", "-c", "echo working; sleep 1"]
  }

  admission {
    job_isolation = "none"
  }
}
`

const storyEnd = `
removed {
  from = fleet.guests
}
`

// story is a manager, its files, and the programs that it runs.
type story struct {
	t       *testing.T
	lab     *lab
	bin     string
	dir     string
	environ []string
	values  *strings.Replacer
}

func newStory(t *testing.T) *story {
	t.Helper()
	l := newLab(t)
	s := &story{t: t, lab: l, bin: filepath.Join(l.dir, "bin"), dir: filepath.Join(l.dir, "fleet")}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	build(t, filepath.Join(root, "cmd"), "./forgeyard-fleet", s.bin)
	build(t, filepath.Join(root, "plugins", "libvirt"), ".", filepath.Join(s.bin, "forgeyard-plugin-libvirt"))
	guest := guestFiles(t, root, s.bin)
	s.environ = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "LANG=C.UTF-8", "NO_COLOR=1",
		"FLEET_STATE_DIR=" + filepath.Join(l.dir, "state"), "FLEET_PLUGIN_DIR=" + filepath.Join(l.dir, "plugins"),
		"XDG_RUNTIME_DIR=" + filepath.Join(l.dir, "r"),
	}
	s.values = strings.NewReplacer("@PORT@", freePort(t), "@URI@", l.uri(), "@GUEST@", guest, "@EMULATION@", emulation())
	return s
}

// publish publishes the built plugin beside it, as the Makefile does, and gives the
// key that it is signed by.
func (s *story) publish() string {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), "../../../publish.sh", s.bin)
	c.Env = s.environ
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("publish the plugin: %v\n%s", err, out)
	}
	key, err := os.ReadFile(filepath.Join(s.bin, "plugins.key.pub"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// build builds a program from its own module only, as the Makefile does.
func build(t *testing.T, module, program, to string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to+"/", program)
	if program == "." {
		c.Args[len(c.Args)-2] = to
	}
	c.Dir, c.Env = module, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build %s in %s: %v\n%s", program, module, err, out)
	}
}

// guestFiles builds the agent into a folder, and makes the guest with it. Only its
// kernel takes time, and that is kept between runs.
func guestFiles(t *testing.T, root, bin string) string {
	t.Helper()
	build(t, filepath.Join(root, "cmd"), "./forgeyard-runner", bin)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "forgeyard-fleet", "guest")
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "examples", "libvirt", "guest.sh"), dir,
		filepath.Join(bin, "forgeyard-runner")).CombinedOutput()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the guest can't be made: %v\n%s", err, out)
		}
		t.Skipf("SKIP: the guest can't be made: %v\n%s", err, out)
	}
	return dir
}

// emulation says how guests run here: by the processor where it works, which on a
// machine that is virtual itself having /dev/kvm doesn't show.
func emulation() string {
	try := exec.Command("timeout", "3", "qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-machine", "q35",
		"-nodefaults", "-display", "none")
	_ = try.Run()
	if try.ProcessState != nil && try.ProcessState.ExitCode() == 124 {
		return "never" // it ran until it was ended
	}
	return "always"
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func (s *story) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "fleet.hcl"), []byte(s.values.Replace(text)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, "forgeyard-fleet"), args...)
	c.Dir, c.Env = s.dir, s.environ
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// fleet runs forgeyard-fleet, which must succeed.
func (s *story) fleet(args ...string) string {
	s.t.Helper()
	c := s.command(args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		s.t.Fatalf("forgeyard-fleet %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// storyInstance is one of `instance list --json`.
type storyInstance struct {
	Key    string `json:"key"`
	Host   string `json:"provider_instance"`
	State  string `json:"state"`
	Runner *struct {
		JobsRun int `json:"jobs_run"`
	} `json:"runner"`
}

func (s *story) instances() []storyInstance {
	s.t.Helper()
	var all []storyInstance
	if err := json.Unmarshal([]byte(s.fleet("instance", "list", "--json")), &all); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// serve runs the manager until the test ends or it is told to.
func (s *story) serve() (stop func()) {
	s.t.Helper()
	daemon := s.command("serve")
	said, err := os.Create(filepath.Join(s.lab.dir, "manager.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	daemon.Stdout, daemon.Stderr = said, said
	// The thread that starts it must live on: the kernel ends it with the thread.
	runtime.LockOSThread()
	if err := daemon.Start(); err != nil {
		s.t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		runtime.UnlockOSThread()
		if content, _ := os.ReadFile(said.Name()); s.t.Failed() {
			s.t.Logf("the manager said:\n%s", content)
		}
		_ = said.Close()
	}
	s.t.Cleanup(stop)
	eventually(s.t, "the manager serves", func() bool {
		content, _ := os.ReadFile(said.Name())
		return strings.Contains(string(content), "Serving")
	})
	return stop
}

// The whole way with everything real: a fleet file, the manager, the plugin, a
// daemon, and a guest that boots, finds the manager, works and shuts itself down.
func TestAGuestBootsJoinsWorksAndIsGoneWithoutATrace(t *testing.T) {
	t.Parallel()
	needLong(t)
	s := newStory(t)
	s.lab.shouldBeEmpty(t)
	s.write(storyFile)
	s.fleet("plugin", "install", "--from", filepath.Join(s.bin, "plugins"), "--trust-key", s.publish())
	s.fleet("apply", "--auto-approve") // so that the manager knows where to listen
	stop := s.serve()
	s.write(storyFile + storyFleet)
	ends := s.lab.watchEnds(t)
	s.fleet("apply", "--auto-approve", "--wait", "4m")
	all := s.instances()
	if len(all) != 1 || all[0].State != "healthy" || all[0].Host != "a/"+all[0].Key {
		t.Fatalf("instances: %+v", all)
	}
	key := all[0].Key
	have := s.lab.left(t)
	if want := []string{"domain " + key, "pool/inst." + key + ".qcow2", "pool/inst." + key + ".seed.iso"}; !slices.Equal(
		have, want) {
		t.Errorf("the lab has %v", have)
	}
	eventually(t, "a job has run in the guest", func() bool {
		all := s.instances()
		return len(all) == 1 && all[0].Runner != nil && all[0].Runner.JobsRun > 0
	})
	s.write(storyFile + storyEnd)
	s.fleet("apply", "--auto-approve", "--wait", "4m")
	s.lab.shouldBeEmpty(t)
	stop()
	select {
	case end := <-ends:
		if end != int32(api.DomainEventStoppedShutdown) {
			t.Errorf("the guest ended by %d, and should have shut itself down", end)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing was heard of the guest's end")
	}
}

// A guest that doesn't listen yet never hears of the button that was pressed before.
func TestAShutdownThatIsSentBeforeTheGuestListensIsSentAgain(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	guest := guestFiles(t, root, filepath.Join(l.dir, "bin"))
	p := newTestHosts(t, l.blockHost("a"))
	p.shutdown = 3 * time.Minute
	request := requestFor("k1", idle())
	request.Instance.Memory, request.Instance.Machine, request.Instance.Emulation = "256MiB", "q35", emulation()
	request.Instance.Kernel, request.Instance.Initrd, request.Instance.CommandLine = guest+"/vmlinuz", guest+"/initrd",
		"console=ttyS0 quiet panic=1"
	ends := l.watchEnds(t)
	if _, err := p.Provision(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	terminate(t, p, "a/k1", "k1") // at once: its kernel has hardly begun
	l.shouldBeEmpty(t)
	if end := <-ends; end != int32(api.DomainEventStoppedShutdown) {
		t.Errorf("the guest ended by %d, and should have shut itself down", end)
	}
}

// watchEnds tells how each domain stopped, as the daemon says.
func (l *lab) watchEnds(t *testing.T) <-chan int32 {
	t.Helper()
	ends := make(chan int32, 100)
	l.keep(t, func(c *api.Libvirt) error {
		events, err := c.LifecycleEvents(t.Context())
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		go func() {
			for event := range events {
				if event.Event == int32(api.DomainEventStopped) {
					ends <- event.Detail
				}
			}
		}()
		return nil
	})
	return ends
}
