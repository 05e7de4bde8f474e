package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// Probe shows one capability of the host, or why it isn't there.
type Probe func(context.Context) agentapi.Probe

const (
	// probeTimeout bounds one probe: a hung daemon is not a capability.
	probeTimeout = 10 * time.Second
	// evidenceLimit is how much of a probe's output is told, in bytes.
	evidenceLimit = 256
)

// HostProbes are the capabilities that this agent knows how to show.
func HostProbes() map[string]Probe {
	return map[string]Probe{
		"shell":  CommandProbe("sh", "-c", "echo a POSIX shell runs commands"),
		"git":    CommandProbe("git", "--version"),
		"docker": CommandProbe("docker", "info", "--format", "docker daemon {{.ServerVersion}}"),
		"podman": CommandProbe("podman", "info", "--format", "podman {{.Version.Version}}"),
		"xcode":  CommandProbe("xcodebuild", "-version"),
		"kvm":    deviceProbe("/dev/kvm"),
	}
}

// CommandProbe shows a capability by a command that exits with 0; its first line
// of output is the evidence.
func CommandProbe(name string, args ...string) Probe {
	return func(ctx context.Context) agentapi.Probe {
		cmd := exec.CommandContext(ctx, name, args...)
		var output limitedBuffer
		cmd.Stdout, cmd.Stderr = &output, &output
		cmd.WaitDelay = time.Second
		process.InNewGroup(cmd)
		cmd.Cancel = func() error { return process.KillGroup(cmd) }
		err := process.Start(cmd)
		if err == nil {
			err = process.Wait(cmd)
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(output.kept)), "\n")
		switch {
		case ctx.Err() != nil:
			return agentapi.Probe{Evidence: fmt.Sprintf("%s timed out", name)}
		case err != nil:
			return agentapi.Probe{Evidence: strings.TrimSpace(fmt.Sprintf("%s: %v %s", name, err, line))}
		}
		return agentapi.Probe{OK: true, Evidence: line}
	}
}

// deviceProbe shows a device that this user can open.
func deviceProbe(path string) Probe {
	return func(context.Context) agentapi.Probe {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return agentapi.Probe{Evidence: err.Error()}
		}
		_ = f.Close()
		return agentapi.Probe{OK: true, Evidence: path + " can be opened"}
	}
}

// probeAll shows the named capabilities side by side. One that this agent has no
// probe for is not shown, whatever the host has.
func probeAll(ctx context.Context, probes map[string]Probe, names []string) map[string]agentapi.Probe {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	results := make([]agentapi.Probe, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		probe, known := probes[name]
		if !known {
			results[i] = agentapi.Probe{Evidence: "this agent has no probe for this capability"}
			continue
		}
		all.Go(func() { results[i] = probe(ctx) })
	}
	all.Wait()
	shown := make(map[string]agentapi.Probe, len(names))
	for i, name := range names {
		shown[name] = results[i]
	}
	return shown
}

// limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	kept []byte
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(evidenceLimit-len(b.kept), len(p))]...)
	return len(p), nil
}
