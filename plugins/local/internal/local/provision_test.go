//go:build linux || darwin

package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestPluginIsDeclaredRight(t *testing.T) {
	if err := Plugin("0.0.1").Check(); err != nil {
		t.Error(err)
	}
}

func TestProvisionStartsAnAgentInADirectoryOfItsKey(t *testing.T) {
	m := newTestMachine(t)
	resource := provision(t, m, "k1", playWell)
	if resource.ID != "k1" || resource.Existed {
		t.Errorf("got %+v", resource)
	}
	awaitState(t, m, "k1", provider.Running)
	seen := list(t, m)["k1"]
	if seen.Fleet != "linux" || seen.Image != "image-1" || seen.InstanceDigest != "digest-1" || seen.Created.IsZero() ||
		!reflect.DeepEqual(seen.Tags, map[string]string{"installation": "inst", "proof": "v1-x"}) {
		t.Errorf("the list shows %+v", seen)
	}
	d := m.directory("k1")
	for path, mode := range map[string]fs.FileMode{"": 0o700, bootstrapFile: 0o600, recordFile: 0o600, agentLog: 0o600,
		startedFile: 0o600} {
		info, err := os.Stat(d.path(path))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, wanted %o", d.path(path), info, err, mode)
		}
	}
	document, err := bootstrap.Read(d.path(bootstrapFile))
	if err != nil || document.Token != "tok-secret" || document.Kind != bootstrap.KindFile {
		t.Errorf("got %v, %v", document, err)
	}
	pid := noted(d, ".starts")[0]
	if one, err := readProcess(pid); err != nil || one.session != pid {
		t.Errorf("the agent isn't in a session of its own: %+v, %v", one, err)
	}
}

func TestSameKeyTwiceIsOneAgent(t *testing.T) {
	m := newTestMachine(t)
	provision(t, m, "k1", playSlowly)
	second := provision(t, m, "k1", playSlowly) // the first has no lock yet
	if !second.Existed {
		t.Errorf("got %+v", second)
	}
	awaitState(t, m, "k1", provider.Running)
	if third := provision(t, m, "k1", playSlowly); !third.Existed || third.State != provider.Running {
		t.Errorf("got %+v", third)
	}
	if starts := noted(m.directory("k1"), ".starts"); len(starts) != 1 {
		t.Errorf("agents %v ran", starts)
	}
}

func TestCrashBetweenDirectoryAndStartIsFinishedByTheSameKey(t *testing.T) {
	m := newTestMachine(t)
	request := requestFor("k1", playWell)
	if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
		t.Fatal(err)
	}
	if seen := list(t, m)["k1"]; seen.State != provider.Pending {
		t.Errorf("before the start: %+v", seen)
	}
	if resource := provision(t, m, "k1", playWell); !resource.Existed {
		t.Errorf("got %+v", resource)
	}
	awaitState(t, m, "k1", provider.Running)
}

func TestCrashWhileCreatingDirectoryLeavesNothing(t *testing.T) {
	m := newTestMachine(t)
	for _, left := range []string{".tmp-k1-3095431666", ".tmp-k1-2-3095431666"} { // k1-2 is another key
		if err := os.Mkdir(filepath.Join(m.root, left), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.root, left, bootstrapFile), []byte("a token"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	provision(t, m, "k1", playWell)
	if left := leftIn(m); !slices.Equal(left, []string{".tmp-k1-2-3095431666", "k1"}) {
		t.Errorf("the root holds %v", left)
	}
}

func TestCrashBetweenStartAndItsRecordStillGivesOneAgent(t *testing.T) {
	m := newTestMachine(t)
	d := m.directory("k1")
	provision(t, m, "k1", playSlowly)
	if err := os.Remove(d.path(startedFile)); err != nil {
		t.Fatal(err)
	}
	provision(t, m, "k1", playSlowly) // a second start: the second process ends
	awaitState(t, m, "k1", provider.Running)
	if starts := noted(d, ".starts"); len(starts) != 1 {
		t.Errorf("agents %v ran", starts)
	}
	if state, err := m.Terminate(t.Context(), provider.Ref{ID: "k1", Key: "k1"}); state != provider.Gone || err != nil {
		t.Fatalf("got %v, %v", state, err)
	}
	if pid := noted(d, ".starts"); len(pid) != 0 {
		t.Error("the directory is still there")
	}
}

func TestAgentThatHasRunIsNotStartedAgain(t *testing.T) {
	for name, how := range map[string]string{"after it had the lock": playBriefly, "before it had the lock": playBroken} {
		t.Run(name, func(t *testing.T) {
			m := newTestMachine(t)
			provision(t, m, "k1", how)
			awaitState(t, m, "k1", provider.Stopped)
			again := provision(t, m, "k1", playWell)
			if !again.Existed || again.State != provider.Stopped {
				t.Errorf("got %+v", again)
			}
			if !strings.Contains(again.Detail, agentLog) {
				t.Errorf("the detail %q doesn't say where to look", again.Detail)
			}
		})
	}
}

func TestKeyThatIsBeingRemovedIsNotStarted(t *testing.T) {
	m := newTestMachine(t)
	request := requestFor("k1", playWell)
	if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
		t.Fatal(err)
	}
	if err := m.directory("k1").markTerminating(); err != nil {
		t.Fatal(err)
	}
	if resource := provision(t, m, "k1", playWell); resource.State != provider.Stopping {
		t.Errorf("got %+v", resource)
	}
	if _, recorded, _ := m.directory("k1").started(); recorded {
		t.Error("it was started")
	}
}

func TestWhatCannotStartLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*machine, *provider.ProvisionRequest[Instance])
		want   string
	}{
		"a runner that isn't there": {func(m *machine, _ *provider.ProvisionRequest[Instance]) {
			m.runner.configured = "/does/not/exist"
		}, "start the agent"},
		"no runner at all": {func(m *machine, _ *provider.ProvisionRequest[Instance]) {
			m.runner.configured = ""
		}, "no agent to start"},
		"another architecture": {func(_ *machine, r *provider.ProvisionRequest[Instance]) {
			r.Platform.Arch = "riscv"
		}, "this machine is"},
		"another bootstrap kind": {func(_ *machine, r *provider.ProvisionRequest[Instance]) {
			r.Bootstrap.Kind = "cloud-init"
		}, "cloud-init"},
		"an incomplete bootstrap": {func(_ *machine, r *provider.ProvisionRequest[Instance]) {
			r.Bootstrap.Token = ""
		}, "token is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMachine(t)
			request := requestFor("k1", playWell)
			test.change(m, &request)
			_, err := m.Provision(t.Context(), request)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, wanted an error that says %q", err, test.want)
			}
			if !provider.IsNotCreated(err) {
				t.Error("it doesn't claim that nothing was created")
			}
			if left := leftIn(m); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What a crash left may be anything to the manager; only a look may say.
func TestRefusalForADirectoryThatExistsClaimsNothing(t *testing.T) {
	m := newTestMachine(t)
	request := requestFor("k1", playWell)
	if err := m.create(m.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
		t.Fatal(err)
	}
	m.runner.configured = ""
	if _, err := m.Provision(t.Context(), request); err == nil || provider.IsNotCreated(err) {
		t.Errorf("got %v", err)
	}
}

func TestDirectoryOfSomebodyElseIsAConflict(t *testing.T) {
	m := newTestMachine(t)
	other := *m
	other.installation = "other"
	request := requestFor("k1", playWell)
	if err := other.create(other.recordOf(request), fileDocument(request.Bootstrap)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(m.root, "k2"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"k1", "k2"} {
		_, err := m.Provision(t.Context(), requestFor(key, playWell))
		if conflict, ok := errors.AsType[*provider.Error](err); !ok || conflict.Class != provider.Conflict {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

func TestCommandIsWhatTheContractSays(t *testing.T) {
	m := &machine{wrap: []string{"/usr/bin/systemd-run", "--scope"}, environment: []string{"PATH=/bin"}}
	got := m.command("/root/k1", "/opt/runner", Instance{Nice: 5, Env: map[string]string{"B": "2", "A": "1"}})
	want := []string{
		"/usr/bin/systemd-run", "--scope", "--unit=forgeyard-fleet-local-k1", "--",
		"nice", "-n", "5", "/opt/runner",
		"--bootstrap", "/root/k1/bootstrap.json", "--state", "/root/k1/agent", "--lock", "/root/k1/lock",
	}
	if !reflect.DeepEqual(got.Args, want) {
		t.Errorf("got  %q\nwant %q", got.Args, want)
	}
	if !reflect.DeepEqual(got.Env, []string{"PATH=/bin", "A=1", "B=2", "FORGEYARD_HOST_MARK=/root/k1"}) ||
		got.Dir != "/root/k1" || !got.SysProcAttr.Setsid {
		t.Errorf("got env %q, dir %q, %+v", got.Env, got.Dir, got.SysProcAttr)
	}
}

func TestAgentGetsAFewVariablesOfThePlugin(t *testing.T) {
	got := agentEnvironment(
		[]string{"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "HOME=/h", "PLUGIN_CLIENT_CERT=y", "HTTPS_PROXY=u:p@h", "XPATH=z"})
	if want := []string{"PATH=/bin", "HOME=/h"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}
