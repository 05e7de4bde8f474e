//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// cloudsBin has the programs with the plugins of clouds and hypervisors beside them,
// and the account that the one for AWS is tried with, once.
var cloudsBin = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(bin, "clouds")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, program := range []string{"forgeyard-fleet", "forgeyard-runner", "forgeyard-queue"} {
		if err := os.Link(filepath.Join(bin, program), filepath.Join(dir, program)); err != nil {
			return "", err
		}
	}
	for _, program := range []struct{ module, path, name string }{
		{"plugins/aws", ".", "forgeyard-plugin-aws"},
		{"plugins/aws", "./internal/ec2sim/cmd/ec2sim", "ec2sim"},
		{"plugins/libvirt", ".", "forgeyard-plugin-libvirt"},
	} {
		if err := build(filepath.Join("../..", program.module), program.path, filepath.Join(dir, program.name)); err != nil {
			return "", err
		}
	}
	return dir, publish(dir)
})

// newClouds is a workspace that can install these plugins.
func newClouds(t *testing.T) *workspace {
	t.Helper()
	dir, err := cloudsBin()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t)
	w.bin = dir
	w.environ = append(
		w.environ,
		"AWS_ACCESS_KEY_ID=AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY=no-secret",
		"AWS_EC2_METADATA_DISABLED=true",
	)
	return w
}

// account is a simulated account of AWS that runs in a process of the workspace.
type account struct {
	w       *workspace
	command *command
	url     string
}

// machine is one of its instances.
type machine struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Type  string `json:"type"`
	Zone  string `json:"zone"`
}

func (w *workspace) account(args ...string) *account {
	w.t.Helper()
	a := &account{w: w, command: w.begin(exec.Command(filepath.Join(w.bin, "ec2sim"), args...), nil, "by ec2sim")}
	a.command.limit.Stop() // a guest may take long to boot
	a.command.mustSay("http://")
	a.url, _, _ = strings.Cut(a.command.heard(), "\n")
	return a
}

// machines are those that weren't terminated.
func (a *account) machines() []machine {
	a.w.t.Helper()
	request, err := http.NewRequestWithContext(a.w.t.Context(), http.MethodGet, a.url+"/ec2sim/machines", nil)
	if err != nil {
		a.w.t.Fatal(err)
	}
	var all, living []machine
	if err := json.Unmarshal(answerOf(a.w.t, request), &all); err != nil {
		a.w.t.Fatal(err)
	}
	for _, one := range all {
		if one.State == "pending" || one.State == "running" {
			living = append(living, one)
		}
	}
	return living
}

// hypervisor is a daemon of libvirt of the workspace alone, with a guest that boots in
// seconds.
type hypervisor struct {
	w          *workspace
	uri, guest string
}

// missing skips the test where there is no such program; in CI that is a failure.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip("SKIP: " + what)
}

func (w *workspace) hypervisor() *hypervisor {
	w.t.Helper()
	for program, pkg := range map[string]string{"libvirtd": "libvirt-daemon-system", "virsh": "libvirt-clients",
		"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", "busybox": "busybox-static"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(w.t, fmt.Sprintf("%s is missing (Debian: apt-get install %s)", program, pkg))
		}
	}
	if os.Geteuid() != 0 {
		missing(w.t, "only root can give a daemon of libvirt namespaces of its own")
	}
	h := &hypervisor{w: w, uri: "qemu:///system?socket=" + w.path("lab/run/libvirt-sock")}
	cache, err := os.UserCacheDir()
	if err != nil {
		w.t.Fatal(err)
	}
	h.guest = filepath.Join(cache, "forgeyard-fleet", "guest") // its kernel is kept between runs
	if out, err := exec.Command("../../examples/libvirt/guest.sh", h.guest, filepath.Join(w.bin, "forgeyard-runner")).
		CombinedOutput(); err != nil {
		missing(w.t, fmt.Sprintf("the guest can't be made: %v\n%s", err, out))
	}
	script, err := filepath.Abs("../../examples/libvirt/daemon.sh")
	if err != nil {
		w.t.Fatal(err)
	}
	daemon := w.begin(exec.Command(script, w.path("lab")), nil, "by daemon.sh")
	daemon.limit.Stop()
	daemon.mustSay("ready")
	w.t.Cleanup(func() { daemon.terminate() })
	h.virsh("vol-create-as", "default", "base.qcow2", "16M", "--format", "qcow2")
	return h
}

// terminate asks a program to end, and waits until it has.
func (c *command) terminate() {
	process{pid: c.cmd.Process.Pid}.terminate()
	c.wait()
}

func (h *hypervisor) virsh(args ...string) string {
	h.w.t.Helper()
	out, err := exec.Command("virsh", append([]string{"-q", "-c", h.uri}, args...)...).CombinedOutput()
	if err != nil {
		h.w.t.Fatalf("virsh %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// guests are the names of its machines.
func (h *hypervisor) guests() []string {
	h.w.t.Helper()
	return strings.Fields(h.virsh("list", "--all", "--name"))
}

// emulation says how guests run here: by the processor where it works, which on a
// machine that is virtual itself having /dev/kvm doesn't show.
func emulation() string {
	try := exec.Command(
		"timeout",
		"3",
		"qemu-system-x86_64",
		"-accel",
		"kvm",
		"-cpu",
		"host",
		"-machine",
		"q35",
		"-nodefaults",
		"-display",
		"none",
	)
	_ = try.Run()
	if try.ProcessState != nil && try.ProcessState.ExitCode() == 124 {
		return "never" // it ran until it was ended
	}
	return "always"
}

// longPatience is for what waits for a guest, which may be emulated.
const longPatience = 4 * time.Minute
