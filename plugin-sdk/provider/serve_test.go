//go:build unix

package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestStartedByHandItSaysWhatItIs(t *testing.T) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), testPluginBinary(t))
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("got %v, wanted exit code 1", err)
	}
	if stdout.Len() != 0 {
		t.Errorf("standard output has %q", stdout.String())
	}
	for _, want := range []string{`"testplugin"`, "forgeyard-fleet", "plugin install"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, stderr.String())
		}
	}
}

func TestDescribeAndVersionNeedNoHost(t *testing.T) {
	described, err := exec.CommandContext(t.Context(), testPluginBinary(t), "--describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	var info providerpb.GetInfoResponse
	if err := protojson.Unmarshal(described, &info); err != nil {
		t.Fatalf("%v:\n%s", err, described)
	}
	if info.Name != "testplugin" || info.InstanceSchema.Attributes[0].Name != "size" {
		t.Errorf("got %v", &info)
	}
	version, err := exec.CommandContext(t.Context(), testPluginBinary(t), "--version").Output()
	if err != nil || string(version) != "0.0.1\n" {
		t.Errorf("got %q, %v", version, err)
	}
}

func TestFaultyDeclarationIsOneClearErrorAtStart(t *testing.T) {
	type bad struct {
		Size int `fleet:"size,requird"`
	}
	var stdout, stderr bytes.Buffer
	plugin := Plugin[struct{}, bad]{Name: "acme", Version: "1",
		New: func(context.Context, struct{}, Environment) (Provider[bad], error) {
			return nil, nil
		}}
	for _, arguments := range [][]string{nil, {"--describe"}} {
		stderr.Reset()
		if code := run(plugin, arguments, func(string) string { return "" }, &stdout, &stderr); code != 1 {
			t.Errorf("%v: exit code %d", arguments, code)
		}
		if text := stderr.String(); strings.Count(text, "requird") != 1 || !strings.Contains(text, "field Size") ||
			stdout.Len() != 0 {
			t.Errorf("%v: got %q", arguments, text)
		}
	}
}

func TestRealProcessServesOverMutualTLS(t *testing.T) {
	host := launch(t, exec.Command(testPluginBinary(t)))
	configured, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{Installation: "inst"})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("%v, %v", configured, err)
	}
	provision := func(key, name string) *providerpb.ProvisionResponse {
		t.Helper()
		got := receive(host.Provision(t.Context(), &providerpb.ProvisionRequest{
			InstanceJson: []byte(`{"size": 1}`), Items: []*providerpb.ProvisionRequest_Item{{Key: key, Name: name}},
		}))
		if got.err != nil || len(got.messages) != 1 {
			t.Fatalf("got %v", got)
		}
		return got.messages[0]
	}
	wantOutcome(t, provision("k1", "noisy"), created, noClass)
	wantOutcome(t, provision("k1", ""), existed, noClass)
	wantOutcome(t, provision("k2", "panic"), unknown, internalPB)
	wantOutcome(t, provision("k3", ""), created, noClass)
	if host.client.Exited() {
		t.Error("the process ended")
	}
}

// systemd signals a whole control group and a terminal a whole process group:
// a plugin that went first would lose the answers that the host waits for.
func TestSignalsDoNotStopItWhileTheHostLives(t *testing.T) {
	host := launch(t, exec.Command(testPluginBinary(t)))
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGTERM} {
		if err := unix.Kill(host.pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := host.GetInfo(t.Context(), &providerpb.GetInfoRequest{}); err != nil {
		t.Errorf("after the signals: %v", err)
	}
}

func TestHostGoneEndsItOnceCallsUnderWayHaveFinished(t *testing.T) {
	directory := t.TempDir()
	release, finished := filepath.Join(directory, "release"), filepath.Join(directory, "finished")
	if err := unix.Mkfifo(release, 0o600); err != nil {
		t.Fatal(err)
	}
	host := launch(t, exec.Command(testPluginBinary(t)))
	config, err := json.Marshal(map[string]string{"release": release, "finished": finished})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{ProviderJson: config}); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Provision(t.Context(), &providerpb.ProvisionRequest{
		InstanceJson: []byte(`{"size": 1}`), Items: []*providerpb.ProvisionRequest_Item{{Key: "k1", Name: "slow"}},
	}); err != nil {
		t.Fatal(err)
	}
	gate := awaitReader(t, release)
	host.stdin.Close()
	unix.Close(gate)
	eventually(t, "the process ends", host.client.Exited)
	if _, err := os.Stat(finished); err != nil {
		t.Errorf("the call under way was cut off: %v", err)
	}
	if _, err := os.Lstat(host.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket %s is left behind: %v", host.socket, err)
	}
}

// awaitReader returns the writing end of a FIFO when somebody reads it, that is
// when the slow call has begun. The call ends when it is closed.
func awaitReader(t *testing.T, fifo string) int {
	t.Helper()
	descriptor := -1
	eventually(t, "the slow call has begun", func() bool {
		var err error
		descriptor, err = unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil
	})
	return descriptor
}

func TestHungCallDoesNotOutliveItsHostByFiveSeconds(t *testing.T) {
	release := filepath.Join(t.TempDir(), "release")
	if err := unix.Mkfifo(release, 0o600); err != nil {
		t.Fatal(err)
	}
	host := launch(t, exec.Command(testPluginBinary(t)))
	if _, err := host.Configure(t.Context(),
		&providerpb.ConfigureRequest{ProviderJson: fmt.Appendf(nil, `{"release": %q}`, release)}); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Provision(t.Context(), &providerpb.ProvisionRequest{
		InstanceJson: []byte(`{"size": 1}`), Items: []*providerpb.ProvisionRequest_Item{{Key: "k1", Name: "slow"}},
	}); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(awaitReader(t, release))
	gone := time.Now()
	host.stdin.Close()
	eventually(t, "the process ends", host.client.Exited)
	if took := time.Since(gone); took < finishTime/2 || took > 5*time.Second {
		t.Errorf("it took %v, wanted about %v", took, finishTime)
	}
}

// The handshake is the only thing on standard output, and a broken pipe on
// standard error, as a dead host leaves it, is not the end.
func TestStdoutCarriesOnlyHandshakeAndSurvivesBrokenPipe(t *testing.T) {
	command := exec.CommandContext(t.Context(), testPluginBinary(t))
	command.Env = []string{
		providerpb.MagicCookieKey + "=" + providerpb.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=1",
		providerpb.LogLevelEnv + "=trace", "PLUGIN_UNIX_SOCKET_DIR=" + t.TempDir(),
	}
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || strings.Count(lines.Text(), "|") != 5 {
		t.Errorf("the first line is %q", lines.Text())
	}
	stderr.Close() // what is logged from here on raises SIGPIPE
	stdin.Close()
	for lines.Scan() {
		t.Errorf("after the handshake: %q", lines.Text())
	}
	if err := command.Wait(); err != nil {
		t.Errorf("it didn't end by itself: %v", err)
	}
}

// As long as the process lives the lock is held, and no longer: a child that
// outlives the plugin must not keep it.
func TestLaunchLockIsNotInheritedByChildren(t *testing.T) {
	directory := t.TempDir()
	lockPath, childPID := filepath.Join(directory, "lock"), filepath.Join(directory, "pid")
	lock, err := os.Create(lockPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(testPluginBinary(t))
	command.ExtraFiles = []*os.File{lock}
	command.Env = []string{fmt.Sprintf("%s=%d", providerpb.LaunchLockEnv, providerpb.LaunchLockFD)}
	host := launch(t, command)
	lock.Close() // the plugin has the only copy now

	config := fmt.Sprintf(`{"child": ["sh", "-c", "echo $$ > %s.new && mv %[1]s.new %[1]s && exec sleep 600"]}`, childPID)
	if _, err := host.Configure(t.Context(), &providerpb.ConfigureRequest{ProviderJson: []byte(config)}); err != nil {
		t.Fatal(err)
	}
	var pid int
	eventually(t, "the child runs", func() bool {
		content, _ := os.ReadFile(childPID)
		pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
		return err == nil
	})
	defer unix.Kill(pid, unix.SIGKILL)

	if free(t, lockPath) {
		t.Error("the lock is free while the plugin lives")
	}
	host.stdin.Close()
	eventually(t, "the plugin ends", host.client.Exited)
	if err := unix.Kill(pid, 0); err != nil {
		t.Fatalf("the child is gone, so this shows nothing: %v", err)
	}
	eventually(t, "the lock is free though the child lives", func() bool { return free(t, lockPath) })
}

func free(t *testing.T, lockPath string) bool {
	t.Helper()
	file, err := os.Open(lockPath)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func TestBadLaunchLockIsAnErrorAtStart(t *testing.T) {
	for _, number := range []string{"x", "-1", "2", "987654"} {
		if err := keepLaunchLock(number); err == nil {
			t.Errorf("%q was taken", number)
		}
	}
	if err := keepLaunchLock(""); err != nil {
		t.Errorf("no lock was passed: %v", err)
	}
}
