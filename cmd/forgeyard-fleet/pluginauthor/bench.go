package pluginauthor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

// bench starts a plugin's binary for the conformance kit, as the manager
// does, in a folder of its own.
type bench struct {
	folder string // removed by close
	launch pluginhost.Launch
	lookup func(string) (string, bool)
	trap   *proxyTrap
}

// newBench copies the binary, so that a build meanwhile changes nothing and
// the folder that it was built in may belong to anybody.
func newBench(binary string, lookup func(string) (string, bool)) (made *bench, err error) {
	b := &bench{lookup: lookup}
	if b.folder, err = os.MkdirTemp("", "ffkit"); err != nil {
		return nil, fmt.Errorf("create a directory for the test: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(b.folder))
		}
	}()
	b.launch = pluginhost.Launch{
		Plugin: filepath.Base(binary), Path: filepath.Join(b.folder, "plugin"), RunDir: filepath.Join(b.folder, "run"),
		// Every level is asked for: a secret in a debug line is a secret in a log.
		Logger: slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if b.launch.Digest, err = copyExecutable(binary, b.launch.Path); err != nil {
		return nil, err
	}
	if err := os.Mkdir(b.stateDir(), 0o700); err != nil {
		return nil, fmt.Errorf("create a directory for the test: %w", err)
	}
	if b.trap, err = newProxyTrap(); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *bench) close() error {
	b.trap.close()
	return os.RemoveAll(b.folder)
}

// stateDir is the plugin's cache.
func (b *bench) stateDir() string { return filepath.Join(b.folder, "state") }

// copyExecutable gives the digest of what was copied.
func copyExecutable(from, to string) (string, error) {
	source, err := os.Open(from)
	if err != nil {
		return "", fmt.Errorf("open the plugin: %w; give the path of its binary", err)
	}
	defer source.Close()
	if info, err := source.Stat(); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", errors.Join(fmt.Errorf("%s isn't executable; give the path of the plugin's binary", from), err)
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o500)
	if err != nil {
		return "", fmt.Errorf("copy the plugin: %w", err)
	}
	digest := sha256.New()
	_, err = io.Copy(io.MultiWriter(target, digest), source)
	if err := errors.Join(err, target.Close()); err != nil {
		return "", fmt.Errorf("copy the plugin: %w", err)
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil)), nil
}

// describe asks the plugin what it is.
func (b *bench) describe(ctx context.Context) (info pluginhost.Info, err error) {
	launch := b.launch
	launch.LookupEnv = b.lookup
	process, err := pluginhost.Start(ctx, launch)
	if err != nil {
		return pluginhost.Info{}, err
	}
	defer func() { err = errors.Join(err, process.Stop(stopGrace)) }()
	return process.Info(ctx)
}

// stopGrace is what a plugin gets to end in.
const stopGrace = 5 * time.Second

// Processes says that each start is a process.
func (b *bench) Processes() bool { return true }

// Start implements conformance.Launcher. Offline, every proxy that the
// environment names is a trap: a plugin that is well behaved behind a proxy is
// noticed there.
func (b *bench) Start(ctx context.Context, offline bool) (conformance.Running, error) {
	r := &benchProcess{}
	launch := b.launch
	launch.LookupEnv, launch.OnOutput = b.lookup, r.recordOutput
	if offline {
		launch.LookupEnv = b.trap.environment(b.lookup)
		r.trap, r.before = b.trap, len(b.trap.reached())
	}
	var err error
	if r.process, err = pluginhost.Start(ctx, launch); err != nil {
		return nil, err
	}
	return r, nil
}

// benchProcess is one process of the plugin.
type benchProcess struct {
	process *pluginhost.Process
	trap    *proxyTrap // nil: it is online
	before  int        // what the trap had seen by then

	mutex sync.Mutex
	lines []conformance.Line
	bytes int // of them all
}

// maxOutput bounds what is kept of what a plugin says, in bytes: one that
// floods must not fill the memory of who tests it.
const maxOutput = 8 << 20

func (r *benchProcess) recordOutput(line pluginlog.OutputLine) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	const each = 64 // a line's own, however short it is
	if r.bytes += len(line.Text) + each; r.bytes <= maxOutput {
		r.lines = append(r.lines, conformance.Line(line))
	}
}

func (r *benchProcess) Connection() grpc.ClientConnInterface { return r.process.Connection() }

func (r *benchProcess) Stop() error { return r.process.Stop(stopGrace) }

func (r *benchProcess) Kill() { _ = r.process.Kill() }

func (r *benchProcess) Said() []conformance.Line {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]conformance.Line(nil), r.lines...)
}

func (r *benchProcess) LoseHost(ctx context.Context, limit time.Duration) ([]string, error) {
	return r.process.LoseHost(ctx, limit)
}

func (r *benchProcess) Reached() []string {
	if r.trap == nil {
		return nil
	}
	return r.trap.reached()[r.before:]
}
