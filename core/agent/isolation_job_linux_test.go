package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// uses counts the processes of a user, whatever started them.
func uses(t *testing.T, uid int) int {
	t.Helper()
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all {
		if !p.Zombie && p.HasUID(uid) {
			n++
		}
	}
	return n
}

// commandsOf are the command lines of a user's processes.
func commandsOf(t *testing.T, uid int) string {
	t.Helper()
	all, err := process.List()
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, p := range all {
		if p.HasUID(uid) {
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline") // it may have ended
			text += strings.ReplaceAll(string(line), "\x00", " ") + "\n"
		}
	}
	return text
}

func TestNothingOfAnIsolatedJobIsLeftForTheNextOne(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	u := h.settleIsolated("")
	mine := "isolation-test-" + filepath.Base(filepath.Dir(h.config.StateDir))
	t.Cleanup(func() { _ = os.RemoveAll("/tmp/" + mine) })
	if err := os.WriteFile("/tmp/"+mine+"-of-root", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove("/tmp/" + mine + "-of-root") })
	for name, script := range map[string]string{
		"a daemon in a session of its own": `setsid env -i $(command -v sleep) 600 & sleep 0.1`,
		"a daemon that was " +
			"forked twice": `(setsid bash -c '(exec env -i $(command -v sleep) 600) & disown' &) ; sleep 0.2`,
		"a daemon with the mark of another job": `(FORGEYARD_JOB=other setsid sleep 600 &) ; sleep 0.1`,
		"processes that fork faster " +
			"than one counts": `f() { (f &); (f &); sleep 0.05; }; ulimit -u 60; f 2>/dev/null; sleep 0.2`,
	} {
		t.Run(name, func(t *testing.T) {
			h.t = t
			j := h.startAs(
				u,
				`touch left "$TMPDIR/left"; mkdir -p /tmp/`+mine+`/a /dev/shm/`+mine+`; chmod 500 /tmp/`+mine+`/a; `+script,
			)
			r := j.finish(t.Context())
			if !r.clean || r.problem != "" {
				t.Errorf("the job ended with %+v: %s", r, h.log())
			}
			if n := uses(t, u.UID); n != 0 {
				t.Errorf("%d processes of the job's user are left", n)
			}
			for _, path := range []string{j.folder, "/tmp/" + mine, "/dev/shm/" + mine} {
				if _, err := os.Lstat(path); !os.IsNotExist(err) {
					t.Errorf("%s is left: %v", path, err)
				}
			}
		})
	}
	if _, err := os.Stat("/tmp/" + mine + "-of-root"); err != nil {
		t.Errorf("a file that isn't the job's was removed: %v", err)
	}
}

func TestForeignProcessOfTheJobUserEndsWithTheJob(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	u := h.settleIsolated("")
	let := filepath.Join(filepath.Dir(h.config.StateDir), "let")
	j := h.startAs(u, "echo ready; while [ ! -e "+let+" ]; do sleep 0.05; done")
	h.waitForLog("ready")
	// As a job would by a service of the host, such as cron: no ancestor is the job's.
	id := strconv.Itoa(u.UID)
	service := exec.Command(
		"sh",
		"-c",
		"setpriv --reuid "+id+" --regid "+id+" --clear-groups env -i /bin/sleep 600; exit $?",
	)
	if err := process.Start(service); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the service started it", func() bool { return strings.Contains(commandsOf(t, u.UID), "sleep 600") })
	if err := os.WriteFile(let, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := j.finish(t.Context()); !r.clean || r.exit != "exit status 0" || uses(t, u.UID) != 0 {
		t.Errorf("the job ended with %+v, and %d processes are left", r, uses(t, u.UID))
	}
	if err := process.Wait(service); err == nil || err.Error() != "exit status 137" {
		t.Errorf("the service's process ended with %v, and not by being killed", err)
	}
}

func TestAnIsolatedJobOfAKilledAgentIsEndedByItsUser(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	u := h.settleIsolated("")
	j := h.startAs(u, "setsid env -i $(command -v sleep) 600 & echo ready; wait")
	h.waitForLog("ready")
	record := *h.history.record.Running
	if record.UID != u.UID {
		t.Fatalf("the record has uid %d", record.UID)
	}
	// While another agent has the user, nothing of it is ours to end.
	lost := record
	lost.Mark, lost.PID, lost.Started = "none", 0, ""
	if gone, err := process.EndJobProcesses(lost.JobProcesses, holdUser); !gone || err != nil || uses(t, u.UID) < 2 {
		t.Errorf("with the user held elsewhere: gone %v, %v, %d processes", gone, err, uses(t, u.UID))
	}
	u.Release() // as the end of a process does
	if gone, err := process.EndJobProcesses(lost.JobProcesses, holdUser); gone || err != nil {
		t.Errorf("at the first look: gone %v, %v", gone, err)
	}
	if r := j.finish(t.Context()); r.exit != "signal: killed" || !r.clean || uses(t, u.UID) != 0 {
		t.Errorf("the job ended with %+v, and %d processes are left", r, uses(t, u.UID))
	}
}

func TestTheUserOfIsolatedJobsIsTheAgentsAlone(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	first := h.settleIsolated("")
	other := h.config
	other.StateDir = filepath.Join(filepath.Dir(h.config.StateDir), "second")
	if err := os.Mkdir(other.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	second := isolation.Settle(t.Context(), other.host(), isolation.Demand{Isolated: true})
	if second.Err != nil || second.User.UID == first.UID {
		t.Errorf("two agents on one host have %v and %v, %v", first, second.User, second.Err)
	}
	second.User.Release()

	named := h.settleIsolated("games")
	if named.UID == 0 || named.Name != "games" || len(named.Groups) > 0 {
		t.Errorf("the user games is %+v", named)
	}
	if s := isolation.Settle(
		t.Context(),
		other.host(),
		isolation.Demand{User: "games", Isolated: true},
	); s.Err == nil ||
		!strings.Contains(s.Err.Error(), "another agent on this host runs jobs as the user games") {
		t.Errorf("a user that another agent has: %v", s.Err)
	}
	named.Release()

	busy := exec.Command("sleep", "600")
	busy.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(named.UID), Gid: uint32(named.GID)},
	}
	if err := process.Start(busy); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Process.Kill(); _ = process.Wait(busy) }()
	for user, says := range map[string]string{
		"games":        "was not started by a job; jobs need a user of their own",
		"root":         "runner.user root has the rights of root",
		"no-such-user": `runner.user: this host has no user "no-such-user"`,
	} {
		if s := isolation.Settle(
			t.Context(),
			h.config.host(),
			isolation.Demand{User: user, Isolated: true},
		); s.Err == nil ||
			!strings.Contains(s.Err.Error(), says) {
			t.Errorf("as %s: %v", user, s.Err)
		}
	}
}

func TestWithoutIsolationAJobIsTheNamedUserAsEverywhere(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	s := isolation.Settle(t.Context(), h.config.host(), isolation.Demand{User: "games"})
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	if r := h.startAs(s.User, `id -un; id -G; grep NoNewPrivs /proc/self/status; touch here; pwd`).
		finish(t.Context()); r.failed ||
		r.problem != "" {
		t.Errorf("the job ended with %+v", r)
	}
	groups := run(t, "id", "-G", "games")
	if want := "games\n" + groups + "NoNewPrivs:\t0\n" + isolation.OtherUserFolder(
		h.config.host(),
	) + "\n"; h.log() != want {
		t.Errorf("the job says\n%swant\n%s", h.log(), want)
	}
	if s := isolation.Settle(t.Context(), h.config.host(), isolation.Demand{User: "root"}); s.Err != nil || s.User != nil {
		t.Errorf("the agent's own user by its name: %v, %v", s.User, s.Err)
	}
}

func TestAnAgentThatIsNotRootSaysThatJobsAreNotIsolated(t *testing.T) {
	if os.Geteuid() == 0 {
		if !ownNetwork(t) {
			return
		}
		if os.Getenv(asNobody) == "" {
			cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v")
			cmd.Env = []string{asNobody + "=1", inNetwork + "=1", "TMPDIR=/tmp"}
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("as the user nobody: %v\n%s", err, out)
			}
			return
		}
	}
	h := newIsolatedHost(t)
	for demand, says := range map[isolation.Demand]string{
		{Isolated: true}:                "the agent does not run as root",
		{Isolated: true, User: "games"}: "the agent does not run as root",
		{User: "games"}:                 "requires an agent that runs as root",
	} {
		if s := isolation.Settle(
			t.Context(),
			h.config.host(),
			demand,
		); s.Err == nil ||
			!strings.Contains(s.Err.Error(), says) {
			t.Errorf("%+v: %v", demand, s.Err)
		}
	}
}

// asNobody in the environment says that the test runs as another user than root.
const asNobody = "FORGEYARD_TEST_NOBODY"

func TestAnAgentWhoseIsolationIsLostBeginsNoJobAndComplains(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	h := newIsolatedHost(t)
	m := &playedManager{
		t:    t,
		next: 20 * time.Millisecond,
		directive: agentapi.Directive{
			Want:             agentapi.WantRun,
			Order:            "one",
			RequireIsolation: true,
			Command:          []string{"true"},
		},
	}
	r := h.against(m)
	end := h.begin(r)
	m.eventually("jobs run", func() bool { return m.last().JobsRun > 0 })
	if err := os.Chmod(h.config.BootstrapFile, 0o644); err != nil {
		t.Fatal(err)
	}
	var jobs int
	m.eventually("it complains", func() bool {
		jobs = m.last().JobsRun
		return strings.Contains(m.last().Unhealthy, "can read "+h.config.BootstrapFile) &&
			m.last().Isolation == agentapi.IsolationNone
	})
	beats := 0
	m.set(func() { beats = len(m.beats) })
	m.eventually("more beats come", func() bool { return len(m.beats) > beats+5 })
	m.set(func() {
		if m.last().JobsRun != jobs || m.last().Phase != phaseIdle {
			t.Errorf("jobs go on: %+v", m.last())
		}
	})
	if err := end(); err != nil {
		t.Error(err)
	}
}
