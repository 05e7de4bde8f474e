//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// lab is a fleet file with an inventory of hosts, and a fleet of them.
func lab(hosts, command string) string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x86_64"
	}
	return strings.NewReplacer("@ARCH@", arch, "@HOSTS@", hosts, "@COMMAND@", command).Replace(`forgeyard {
  installation = "e2e"

  required_plugins {
    manual = { source = "ghcr.io/forgeyard/fleet-manual", version = "~> 0.1" }
  }
}

provider "manual" "lab" {
  host {
    name = "lin-1"
    arch = "@ARCH@"
  }

  host {
    name = "lin-2"
    arch = "@ARCH@"
  }
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "@ARCH@"
  }

  resources {
    cpu    = 1
    memory = "64MiB"
  }
}

fleet "lab" {
  capacity_class = capacity_class.small
  provider       = provider.manual.lab

  instance {
    hosts = [@HOSTS@]
  }

  scaling {
    min           = 0
    max           = 2
    scale_to_zero = true
  }

  runner {
    command = ["sh", "-c", "@COMMAND@"]
  }

  admission {
    job_isolation = "none"
  }
}
`)
}

// paste runs a line on a host, in a shell of which nothing is known but its name.
func (w *workspace) paste(shell, host, line string) (out string, code int) {
	w.t.Helper()
	home := w.path(host)
	if err := os.MkdirAll(home, 0o755); err != nil {
		w.t.Fatal(err)
	}
	c := exec.Command(shell)
	c.Stdin = strings.NewReader(line + "\n") // typed, as it were
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"LANG=C.UTF-8",
		"FORGEYARD_RUNNER_HOME=" + filepath.Join(home, "agent"),
	}
	text, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		w.t.Fatal(err)
	}
	return string(text), c.ProcessState.ExitCode()
}

// join makes the line for a host.
func (w *workspace) join(host string) string {
	w.t.Helper()
	return strings.TrimSpace(w.fleet(0, "token", "create", "--join", host).out)
}

func (w *workspace) shouldBe(n int, state string) {
	w.t.Helper()
	eventually(w.t, "see "+itoa(n)+" instances "+state, func() bool {
		all := w.instances()
		for _, i := range all {
			if i.State != state {
				return false
			}
		}
		return len(all) == n
	})
}

func TestAHostIsJoinedByPastingALine(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	done := w.path("job-done")
	w.write(lab(`"lin-1", "lin-2"`, "touch "+done+"; sleep 0.2"))
	w.install()
	plan := w.fleet(0, "plan").out
	for _, want := range []string{"2 hosts wait to be joined", "forgeyard-fleet token create --join lin-1",
		"forgeyard-fleet token create --join lin-2"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the first plan lacks %q:\n%s", want, plan)
		}
	}
	daemon := w.served()
	w.apply(0)
	if all := w.instances(); len(all) > 0 {
		t.Fatalf("instances were made without a person: %+v", all)
	}

	// A line is void once there is another; a download that is not an agent starts nothing.
	void := w.join("lin-1")
	line := w.join("lin-1")
	if out, code := w.paste("dash", "lin-1", void); code == 0 || !strings.Contains(out, "ended with status 3") {
		t.Errorf("the void line ended with %d:\n%s", code, out)
	}
	wrong := regexp.MustCompile(`= [0-9a-f]{64} \]`).ReplaceAllString(line, "= "+strings.Repeat("0", 64)+" ]")
	if out, code := w.paste("dash", "lin-1", wrong); code == 0 || !strings.Contains(out, "is not the agent") {
		t.Errorf("a wrong digest ended with %d:\n%s", code, out)
	}
	w.shouldBe(1, "bootstrapping")

	for n, shell := range []string{"bash", "dash"} { // twice is harmless
		out, code := w.paste(shell, "lin-1", line)
		if code != 0 || n == 0 && !strings.Contains(out, "is enrolled as runner") ||
			n == 1 && !strings.Contains(out, "is already running") {
			t.Fatalf("pasting into %s ended with %d:\n%s", shell, code, out)
		}
	}
	w.shouldBe(1, "healthy")
	eventually(t, "see a job done on the joined host", func() bool { return exists(done) })
	if pids := w.pids("forgeyard-runner"); len(pids) != 1 {
		t.Errorf("agents: %v", pids)
	}
	if info, err := os.Stat(w.path("lin-1/agent/bootstrap.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bootstrap document: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(w.path("lin-1/.forgeyard-join*")); len(left) > 0 {
		t.Errorf("the download is left in %v", left)
	}
	if status := w.fleet(
		0,
		"status",
	).out; !strings.Contains(status, "1 host waits to be joined") || !strings.Contains(status, "--join lin-2") ||
		strings.Contains(status, "--join lin-1") {
		t.Errorf("status:\n%s", status)
	}
	if r := w.fleet(
		1,
		"token",
		"create",
		"--join",
		"lin-1",
	); !strings.Contains(r.err, "is joined to fleet.lab") ||
		!strings.Contains(r.err, "to release it") {
		t.Errorf("a line for a joined host: %s", r.err)
	}
	w.removeLab(daemon)
}

// removeLab takes the fleet away and insists that nothing is left.
func (w *workspace) removeLab(daemon *command) {
	w.t.Helper()
	w.write(removedLab())
	w.apply(0)
	eventually(w.t, "see no agent left", func() bool { return len(w.pids("forgeyard-runner")) == 0 })
	daemon.stop()
	w.shouldBeEmpty()
}

func TestAJoinedHostOutlivesARebootAndIsReleasedByTheFile(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(lab(`"lin-1", "lin-2"`, "sleep 0.2"))
	w.install()
	daemon := w.served()
	w.apply(0)
	line := w.join("lin-1")
	if out, code := w.paste("bash", "lin-1", line); code != 0 {
		t.Fatalf("the line ended with %d:\n%s", code, out)
	}
	w.shouldBe(1, "healthy")

	// The agent's process ends, as by a reboot, and comes back as the same runner.
	before := w.instances()[0].Runner.ID
	w.processesOf("forgeyard-runner")[0].terminate()
	eventually(t, "see the agent end", func() bool { return len(w.pids("forgeyard-runner")) == 0 })
	if out, code := w.paste("bash", "lin-1", line); code != 0 {
		t.Errorf("after a reboot the line ended with %d:\n%s", code, out)
	}
	if all := w.instances(); len(all) != 1 || all[0].State != "healthy" || all[0].Runner.ID != before {
		t.Errorf("after a reboot: %+v", all)
	}

	w.write(lab(`"lin-2"`, "sleep 0.2"))
	w.apply(0)
	eventually(t, "see the agent of the released host end", func() bool { return len(w.pids("forgeyard-runner")) == 0 })
	w.shouldBe(0, "")
	w.paste("bash", "lin-1", line) // it was good once
	eventually(t, "see the agent of a spent line end", func() bool { return len(w.pids("forgeyard-runner")) == 0 })
	w.shouldBe(0, "")
	w.write(lab(`"lin-1", "lin-2"`, "sleep 0.2"))
	w.apply(0)
	if status := w.fleet(0, "status").out; !strings.Contains(status, "2 hosts wait to be joined") {
		t.Errorf("the released host doesn't wait again:\n%s", status)
	}
	if out, code := w.paste("bash", "lin-1", w.join("lin-1")); code != 0 {
		t.Errorf("joining it again ended with %d:\n%s", code, out)
	}
	w.shouldBe(1, "healthy")
	w.removeLab(daemon)
}

func removedLab() string {
	text, _, _ := strings.Cut(lab("", ""), "capacity_class")
	return text + "removed {\n  from = fleet.lab\n}\n"
}

func TestAHostInTheForegroundEndsWithItsShellsInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(lab(`"lin-1"`, "sleep 0.2"))
	w.install()
	daemon := w.served()
	w.apply(0)
	if r := w.fleet(1, "token", "create", "--join", "lin-9"); !strings.Contains(r.err, "lin-1, lin-2") {
		t.Errorf("a host that isn't there: %s", r.err)
	}
	if r := w.fleet(1, "token", "create", "--join", "lin-2"); !strings.Contains(r.err, "the fleet's hosts are lin-1") {
		t.Errorf("a host of no fleet: %s", r.err)
	}
	var ticket struct{ Command, Fleet string }
	if err := json.Unmarshal(
		[]byte(w.fleet(0, "token", "create", "--join", "lin-1", "--foreground", "--json").out),
		&ticket,
	); err != nil {
		t.Fatal(err)
	}
	shell := make(chan string, 1)
	go func() {
		out, _ := w.paste("bash", "lin-1", ticket.Command)
		shell <- out
	}()
	w.shouldBe(1, "healthy")
	w.processesOf("forgeyard-runner")[0].terminate()
	if out := <-shell; !strings.Contains(out, "runs in the foreground") {
		t.Errorf("the shell says:\n%s", out)
	}
	w.write(removedLab())
	w.fleet(3, "apply", "--auto-approve", "--wait", "2s") // the agent can't say that it is idle
	daemon.stop()
}
