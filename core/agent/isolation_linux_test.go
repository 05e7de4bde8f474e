//go:build linux

package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// inNetwork in the environment says that the test runs in a network of its own.
const inNetwork = "FORGEYARD_TEST_NETWORK"

// ownNetwork runs the test again in a process with a new network namespace, since
// it makes routing rules and calls metadata addresses. In there it gives true.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNetwork) != "" {
		run(t, "ip", "link", "set", "lo", "up")
		return true
	}
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs root, and is not to be left out here")
		}
		t.Skip("this test needs root: it starts processes of other users")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "100s")
	cmd.Env = append(os.Environ(), inNetwork+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	t.Logf("in a network of its own:\n%s", out)
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in a network of its own the test failed: %v", err)
	}
	return false
}

func run(t *testing.T, line ...string) string {
	t.Helper()
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(line, " "), err, out)
	}
	return string(out)
}

// metadataHost in the environment makes this test binary the machine that answers
// at the metadata addresses.
const metadataHost = "FORGEYARD_TEST_METADATA"

const metadataSecret = "credentials-of-the-host"

// beTestHelper is what TestMain asks first.
func beTestHelper() {
	if os.Getenv(metadataHost) != "" {
		os.Exit(beMetadataHost())
	}
	if len(os.Args) > 1 && os.Args[1] == keeperArgument {
		os.Exit(beKeeper())
	}
}

// beMetadataHost serves until its input ends.
func beMetadataHost() int {
	_, _ = os.Stdin.Read(make([]byte, 1)) // the other end of the cable is there now
	for _, line := range []string{"link set lo up", "link set cloud up", "addr add 169.254.169.254/32 dev cloud",
		"route add 192.0.2.1/32 dev cloud"} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			fmt.Printf("%s: %v: %s\n", line, err, out)
			return 1
		}
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, metadataSecret) })
	for _, port := range []string{"80", "53"} {
		listener, err := net.Listen("tcp", "169.254.169.254:"+port)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		go func() { _ = http.Serve(listener, answer) }() // until this process ends
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// startMetadataHost makes a second network with a metadata service, reached from
// this one by a cable, as from a cloud's machine.
func startMetadataHost(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), metadataHost+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = process.Wait(cmd) })
	run(t, "ip", "link", "add", "uplink", "type", "veth", "peer", "name", "cloud", "netns", strconv.Itoa(cmd.Process.Pid))
	run(t, "ip", "addr", "add", "192.0.2.1/32", "dev", "uplink")
	run(t, "ip", "link", "set", "uplink", "up")
	run(t, "ip", "route", "add", "default", "dev", "uplink")
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	if n, err := out.Read(line); err != nil || string(line[:n]) != "ready\n" {
		t.Fatalf("the metadata service says %q, %v", line[:n], err)
	}
}

// fetch is what the agent itself, as root, gets of a URL.
func fetch(url string) string {
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	return string(content)
}

// newIsolatedHost is a host with the agent's files as a first boot makes them, in
// folders that everybody may go through.
func newIsolatedHost(t *testing.T) *jobHost {
	t.Helper()
	if err := process.AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "isolation-")
	if err == nil {
		err = os.Chmod(base, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	c := Config{
		StateDir: filepath.Join(
			base,
			"agent",
		),
		BootstrapFile: filepath.Join(base, "bootstrap.json"),
		JobsDir:       filepath.Join(base, "jobs"),
		ManagerURL:    "https://none",
		Token:         "t",
		LogLimit:      1 << 16,
		Helper:        []string{"/proc/self/exe", helperArgument},
		CleanupTime:   20 * time.Second,
		Logger:        slog.New(slog.DiscardHandler),
		Path:          os.Getenv("PATH"),
		LockFile:      filepath.Join(base, "agent", "lock"),
		Now:           time.Now,
		Random:        func() float64 { return 0 },
	}
	if err := os.Mkdir(c.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{c.BootstrapFile: "token-of-the-host",
		filepath.Join(c.StateDir, "runner.key"): "key-of-the-host"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := openHistory(c.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	return &jobHost{t: t, config: c, history: h}
}

// settleIsolated gives a user that was shown to be isolated.
func (h *jobHost) settleIsolated(name string) *isolation.User {
	h.t.Helper()
	s := isolation.Settle(h.t.Context(), h.config.host(), isolation.Demand{User: name, Isolated: true})
	if s.Err != nil {
		h.t.Fatal(s.Err)
	}
	h.t.Cleanup(s.User.Release)
	return s.User
}

func (h *jobHost) startAs(u *isolation.User, script string) *job {
	h.t.Helper()
	j, err := startJob(h.config, h.history, agentapi.Directive{Command: []string{"bash", "-c", script}}, u)
	if err != nil {
		h.t.Fatal(err)
	}
	return j
}

func TestIsolatedJobReachesNeitherAgentNorMetadataService(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	startMetadataHost(t)
	t.Setenv("AGENTS_SECRET", "environment-of-the-agent")
	h := newIsolatedHost(t)
	if got := fetch("http://169.254.169.254/"); got != metadataSecret {
		t.Fatalf("there is nothing to be kept from: the agent itself gets %s", got)
	}
	agent := strconv.Itoa(os.Getpid())
	script := `
tried() { echo "tried $1"; shift; "$@" 2>&1; }
tried bootstrap cat ` + h.config.BootstrapFile + `
tried key cat ` + h.config.StateDir + `/runner.key
tried state ls -A ` + h.config.StateDir + `
tried environ cat /proc/` + agent + `/environ
tried mem head -c 1 /proc/` + agent + `/mem
tried files ls /proc/` + agent + `/fd/
tried folder ls /proc/` + agent + `/cwd/
tried kill kill -STOP ` + agent + `
tried others ls -A ` + h.config.JobsDir + `
exec 2>&1
echo tried metadata; (exec 3<>/dev/tcp/169.254.169.254/80; printf 'GET / HTTP/1.0\r\n\r\n' >&3; cat <&3)
echo "uid $(id -u) groups $(id -G)"; grep -E '^(NoNewPrivs|CapEff|CapBnd|CapInh)' /proc/self/status
echo "open $(ls /proc/$$/fd | tr '\n' ' ')"
echo "session $(ps -o sid= -p $$ | tr -d ' ') $$"
pwd; stat -c '%a %u' . tmp; touch here; echo by-name > /dev/stdout
echo name server; (exec 3<>/dev/tcp/169.254.169.254/53; printf 'GET / HTTP/1.0\r\n\r\n' >&3; tail -1 <&3); echo; echo done`
	m := &playedManager{t: t, next: 50 * time.Millisecond, directive: agentapi.Directive{
		Want: agentapi.WantWait, Order: "one", RequireIsolation: true, MaxJobs: 1}}
	r := h.against(m)
	end := h.begin(r)
	m.eventually("isolation is shown", func() bool { return m.last().Isolation == agentapi.IsolationUser })
	m.set(func() {
		if beat := m.beats[0]; beat.Isolation != agentapi.IsolationPending {
			t.Errorf("before it has looked it says %q", beat.Isolation)
		}
		t.Log(m.last().IsolationEvidence)
		m.directive.Want, m.directive.Command = agentapi.WantRun, []string{"bash", "-c", script}
	})
	waitFor(t, "the job is over", func() bool {
		content, _ := os.ReadFile(filepath.Join(h.config.StateDir, "job.log")) // there is none at first
		return bytes.HasSuffix(content, []byte("done\n"))
	})
	if err := end(); err != nil {
		t.Error(err)
	}
	log := h.log()
	t.Log(log)
	for _, secret := range []string{"of-the-host", "of-the-agent", "runner.json", metadataSecret + "\ntried", "jobs.json",
		".lock"} {
		if before, _, _ := strings.Cut(log, "name server"); strings.Contains(before, secret) {
			t.Errorf("the job got %q", secret)
		}
	}
	uid, _, _ := strings.Cut(log[strings.LastIndex(log, "\nuid ")+len("\nuid "):], " ")
	if n, err := strconv.Atoi(uid); err != nil || n < isolation.FirstUID || n > isolation.LastUID {
		t.Errorf("the job runs as %q", uid)
	}
	for _, want := range []string{
		"uid " + uid + " groups " + uid + "\n", "NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapInh:\t0000000000000000",
		"700 " + uid + "\n700 " + uid + "\n", "\nby-name\n", "open 0 1 2 ", "name server\n" + metadataSecret,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the job doesn't say %q", want)
		}
	}
	if _, session, _ := strings.Cut(
		log,
		"session ",
	); len(strings.Fields(session)) < 2 ||
		strings.Fields(session)[0] != strings.Fields(session)[1] {
		t.Error("the job has no session of its own")
	}
	if strings.Count(log, "ermission denied") < 9 {
		t.Errorf("only %d tries were refused", strings.Count(log, "ermission denied"))
	}
	if got := fetch("http://169.254.169.254/"); got != metadataSecret {
		t.Errorf("the agent itself is kept from the metadata service: %s", got)
	}
	if _, err := os.Stat(isolation.OtherUserFolder(h.config.host())); !os.IsNotExist(err) {
		t.Errorf("the job's folder is left: %v", err)
	}
}

func TestWithoutTheRoutingRulesTheHostIsNotIsolated(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	startMetadataHost(t)
	h := newIsolatedHost(t)
	u, err := isolation.IsolatedUser(h.config.host(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Release()
	const reached = "can reach the metadata address 169.254.169.254"
	if _, err := u.Probe(t.Context(), h.config.host()); err == nil || !strings.Contains(err.Error(), reached) {
		t.Errorf("without rules the probe says %v", err)
	}
	for range 2 { // the second time they are there
		if err := isolation.BlockMetadata(u.UID); err != nil {
			t.Fatal(err)
		}
	}
	if rules := run(t, "ip", "rule"); strings.Count(rules, "169.254.169.254") != 2 {
		t.Errorf("the rules are\n%s", rules)
	}
	if evidence, err := u.Probe(t.Context(), h.config.host()); err != nil || !strings.HasPrefix(evidence, "isolated: ") {
		t.Errorf("with rules the probe says %q, %v", evidence, err)
	}
	// Where nothing answers just now, that no one is kept from it is found all the same.
	run(t, "ip", "rule", "flush")
	run(t, "ip", "link", "set", "uplink", "down")
	if _, err := u.Probe(
		t.Context(),
		h.config.host(),
	); err == nil ||
		!strings.Contains(err.Error(), "is not blocked from the metadata address 169.254.169.254") {
		t.Errorf("without rules and without an answer the probe says %v", err)
	}
}

func TestMissingRoutingRightsAreReportedAsNotIsolated(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	startMetadataHost(t)
	h := newIsolatedHost(t)
	done := make(chan isolation.Settlement)
	go func() {
		runtime.LockOSThread() // for good: the thread lost a right
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			t.Error(err)
		}
		data[0].Effective &^= 1 << unix.CAP_NET_ADMIN
		if err := unix.Capset(&header, &data[0]); err != nil {
			t.Error(err)
		}
		done <- isolation.Settle(context.Background(), h.config.host(), isolation.Demand{Isolated: true})
	}()
	s := <-done
	if s.Err == nil || s.User != nil ||
		!strings.Contains(s.Err.Error(), "can reach the metadata address 169.254.169.254") ||
		!strings.Contains(s.Err.Error(), "routing rule") {
		t.Errorf("it says %v", s.Err)
	}
}

func TestAFileThatJobsCanReadOrWriteMakesTheHostNotIsolated(t *testing.T) {
	if !ownNetwork(t) {
		return
	}
	for _, c := range []struct {
		name string
		open func(c Config) error
		says string
	}{
		{"the bootstrap document", func(c Config) error {
			return os.Chmod(c.BootstrapFile, 0o644)
		}, "can read %s/bootstrap.json"},
		{"the key", func(c Config) error {
			return firstError(os.Chmod(c.StateDir, 0o711), os.Chmod(filepath.Join(c.StateDir, "runner.key"), 0o644))
		}, "can read %s/agent/runner.key"},
		{"the state folder", func(c Config) error { return os.Chmod(c.StateDir, 0o755) }, "can read %s/agent"},
		{"a folder that the bootstrap document could be replaced in", func(c Config) error {
			return os.Chmod(filepath.Dir(c.BootstrapFile), 0o777)
		}, "can write %s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newIsolatedHost(t)
			if err := c.open(h.config); err != nil {
				t.Fatal(err)
			}
			s := isolation.Settle(t.Context(), h.config.host(), isolation.Demand{Isolated: true})
			if says := fmt.Sprintf(
				c.says,
				filepath.Dir(h.config.StateDir),
			); s.Err == nil ||
				!strings.Contains(s.Err.Error(), says) {
				t.Errorf("it says %v, want %q in it", s.Err, says)
			}
			s.User.Release()
		})
	}
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
