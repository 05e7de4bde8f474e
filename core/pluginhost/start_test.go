//go:build unix

package pluginhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/process"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/logbuffer"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

func TestAPluginAnswersAndLeavesNothingBehind(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	info, err := process.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Schemas.Name != "test" {
		t.Errorf("name %q", info.Schemas.Name)
	}
	if err := process.ExitCause(); err != nil {
		t.Errorf("a living process has the exit cause %v", err)
	}
	if err := process.Stop(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	wantError(t, process.ExitCause(), "test.here", "was stopped")
	wantEmpty(t, l.RunDir)
	_, err = process.Info(t.Context())
	wantError(t, err, `ask provider test.here (plugin "test") to describe itself`, "was stopped")
}

func TestTheExecutableIsRefused(t *testing.T) {
	copyOf := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "plugin")
		if _, err := install(store.path, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := func(t *testing.T, content string) (string, string) {
		source, path := filepath.Join(t.TempDir(), "source"), filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(source, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		digest, err := install(source, path)
		if err != nil {
			t.Fatal(err)
		}
		return path, digest
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, l *Launch)
		want    []string
	}{
		"whose bytes changed since the lock": {func(t *testing.T, l *Launch) {
			l.Path = copyOf(t)
			if err := errors.Join(os.Chmod(l.Path, 0o755), appendTo(l.Path, "x"), os.Chmod(l.Path, 0o555)); err != nil {
				t.Fatal(err)
			}
		}, []string{"locked " + store.digest, "found sha256:", "plugin install"}},
		"that is missing": {func(t *testing.T, l *Launch) {
			l.Path = filepath.Join(t.TempDir(), "nothing")
		}, []string{"is missing", "plugin install"}},
		"that others may write to": {func(t *testing.T, l *Launch) {
			l.Path = copyOf(t)
			if err := os.Chmod(l.Path, 0o575); err != nil {
				t.Fatal(err)
			}
		}, []string{"may be changed by other users (mode 0575)", "chmod 0555 "}},
		"without the right to execute": {func(t *testing.T, l *Launch) {
			l.Path = copyOf(t)
			if err := os.Chmod(l.Path, 0o444); err != nil {
				t.Fatal(err)
			}
		}, []string{"is not executable", "chmod 0555 "}},
		"that is a directory": {func(t *testing.T, l *Launch) { l.Path = t.TempDir() }, []string{"is not a regular file"}},
		"that is a script": {func(t *testing.T, l *Launch) {
			l.Path, l.Digest = script(t, "#!/bin/sh\nexit 0\n")
		}, []string{"is a script"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := launch(t, "")
			test.prepare(t, &l)
			_, err := Start(t.Context(), l)
			wantError(t, err, append(test.want, `provider test.here (plugin "test")`, l.Path)...)
			var refused *process.ExecutableError
			if !errors.As(err, &refused) {
				t.Errorf("%T is no *process.ExecutableError", err)
			}
			if _, err := os.Stat(l.RunDir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the run directory was touched: %v", err)
			}
		})
	}
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func TestAFileThatIsNoProgramIsToldSo(t *testing.T) {
	source, l := filepath.Join(t.TempDir(), "source"), launch(t, "")
	if err := os.WriteFile(source, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Path = filepath.Join(t.TempDir(), "plugin")
	var err error
	if l.Digest, err = install(source, l.Path); err != nil {
		t.Fatal(err)
	}
	startFails(t, l, "execute "+l.Path, "exec format error", "built for this platform")
}

// hashicorp/go-plugin documents this gap in SecureConfig.
func TestAPathSwappedBetweenCheckAndExecutionDoesNotRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux executes an open file")
	}
	l := launch(t, "").withDefaults()
	l.Path = filepath.Join(t.TempDir(), "plugin")
	if _, err := install(store.path, l.Path); err != nil {
		t.Fatal(err)
	}
	file, err := process.OpenExecutable(l.Path, l.Digest)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	swapped := filepath.Join(t.TempDir(), "swapped")
	if err := errors.Join(
		os.WriteFile(swapped, []byte("#!/bin/sh\necho evil >&2\n"), 0o755),
		os.Rename(swapped, l.Path),
	); err != nil {
		t.Fatal(err)
	}
	plugin, err := startVerified(t.Context(), l, file)
	if err != nil {
		t.Fatalf("the verified file was not what ran: %v", err)
	}
	if _, err := plugin.Info(t.Context()); err != nil {
		t.Error(err)
	}
	if err := plugin.Stop(2 * time.Second); err != nil {
		t.Error(err)
	}
}

// Whatever descriptors are free, the child's renumbering must not overwrite the
// executable's between fork and exec.
func TestTheExecutableSurvivesAnyDescriptorLayout(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux executes an open file")
	}
	for held := range 12 {
		var files []*os.File
		for range held {
			file, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		for i := 0; i < held; i += 2 { // leave holes
			files[i].Close()
		}
		process := started(t, launch(t, ""))
		if err := process.Stop(2 * time.Second); err != nil {
			t.Error(err)
		}
		for i := 1; i < held; i += 2 {
			files[i].Close()
		}
	}
}

func TestAPluginThatDiesAtStartSaysWhy(t *testing.T) {
	l := launch(t, "crash at start")
	startFails(t, l, "start provider test.here", "exit status 3", "the region is wrong region=mars", "cannot continue")
}

func TestASilentPluginIsGivenUpAndKilled(t *testing.T) {
	t.Parallel() // it waits
	l := launch(t, "silent")
	l.StartTimeout = 3 * time.Second
	startFails(t, l, "did not answer within 3s", "waiting for the moon", "allow it more time")
}

func TestAStartIsGivenUpWhenTheCallerWants(t *testing.T) {
	l := launch(t, "silent")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventuallyQuiet(l.RunDir)
		cancel()
	}()
	_, err := Start(ctx, l)
	wantError(t, err, "given up")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
	wantEmpty(t, l.RunDir)
}

// eventuallyQuiet waits until a process is recorded in the run directory.
func eventuallyQuiet(runDir string) {
	for {
		for _, path := range launches(runDir) {
			if record, err := readRecord(path); err == nil && record.Process.PID != 0 {
				return
			}
		}
		runtime.Gosched()
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestAPluginOfAnotherProtocolIsRefused(t *testing.T) {
	l := launch(t, "bad handshake")
	startFails(t, l, "incompatible API version", "for this version and platform")
}

func TestARunDirectoryIsRefused(t *testing.T) {
	t.Run("whose sockets would have too long a name", func(t *testing.T) {
		l := launch(t, "")
		l.RunDir = filepath.Join(t.TempDir(), strings.Repeat("d", 90))
		_, err := Start(t.Context(), l)
		wantError(t, err, "bytes too long for a socket's name", "choose a shorter one")
	})
	t.Run("that others may write to", func(t *testing.T) {
		l := launch(t, "")
		if err := errors.Join(os.MkdirAll(l.RunDir, 0o700), os.Chmod(l.RunDir, 0o777)); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), l)
		wantError(t, err, "may be changed by other users (mode 0777)", "chmod 0700")
	})
}

// hashicorp/go-plugin panics in a goroutine of its own on the first of these.
func TestNoLogLineBringsTheHostDown(t *testing.T) {
	var log logbuffer.Buffer
	l := launch(t, "panicking log lines")
	l.Logger = log.Logger()
	process := started(t, l)
	if _, err := process.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := process.Stop(2 * time.Second); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`{\"@message\":1}`, "cut=true", "plugin=test", "provider=test.here"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(log.String(), "\x1b") {
		t.Error("an escape sequence reached the log")
	}
}

// hashicorp/go-plugin#164, #233: noise before the handshake breaks the start,
// noise after it fills the pipe and stops the plugin.
func TestNoiseOnStandardOutputDoesNotStopAPlugin(t *testing.T) {
	process := started(t, launch(t, "noise"))
	for range 3 {
		if _, err := process.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheEnvironmentHoldsWhatIsAllowedAndNamed(t *testing.T) {
	l := launch(t, "")
	validation, err := started(t, l).Validate(t.Context(), secret.Resolved{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, diagnostic := range validation.Provider {
		name, value, _ := strings.Cut(diagnostic.Summary, "=")
		if strings.HasPrefix(name, "PLUGIN_") {
			if name == "PLUGIN_UNIX_SOCKET_DIR" && !strings.HasPrefix(value, l.RunDir) {
				t.Errorf("the sockets are in %s", value)
			}
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		providerpb.MagicCookieKey,
		providerpb.LaunchLockEnv,
		providerpb.LogLevelEnv,
		"HOME",
		"PATH",
		modeVariable,
		"no_proxy",
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the plugin sees %q, want %q", names, want)
	}
}

func TestANameThatIsNoVariableIsRefused(t *testing.T) {
	l := launch(t, "")
	l.Env = append(l.Env, "A=B")
	startFails(t, l, `"A=B"`, "correct env of plugin")
}

// hashicorp/terraform#38939: a stopped plugin held its host for five hours.
func TestAStuckPluginIsKilledWhenTheGraceIsOver(t *testing.T) {
	l := launch(t, "")
	process := started(t, l)
	pid := pidOf(t, process)
	freeze(t, pid)
	began := time.Now()
	if err := process.Stop(300 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > stopLimit {
		t.Errorf("it took %s", took)
	}
	if processLives(pid) {
		t.Error("the process lives")
	}
	wantError(t, process.ExitCause(), "was stopped", "grace period")
	wantEmpty(t, l.RunDir)
}

func TestAPluginThatStaysAfterItsServerEndedIsKilled(t *testing.T) {
	l := launch(t, "stays")
	process := started(t, l)
	if err := process.Stop(300 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, l.RunDir)
}

// hashicorp/go-plugin#136.
func TestNoChildIsLeftOfThePluginsGroup(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *Process){
		"when it is stopped": func(t *testing.T, p *Process) {
			if err := p.Stop(5 * time.Second); err != nil {
				t.Fatal(err)
			}
		},
		"when it crashes": func(t *testing.T, p *Process) { kill(t, pidOf(t, p), syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			process := started(t, launch(t, ""))
			account, _, err := process.Configure(
				t.Context(),
				Configuration{Provider: secret.Resolved{Body: []byte(`"children"`)}},
			)
			if err != nil {
				t.Fatal(err)
			}
			child := must(strconv.Atoi(account))
			if !processLives(child) {
				t.Fatal("the plugin has no child")
			}
			end(t, process)
			exitsWithin(t, process, 5*time.Second)
			within(t, 5*time.Second, "the child is gone", func() bool { return !processLives(child) })
		})
	}
}
