//go:build linux || darwin

package local

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/forgeyard/forgeyard-fleet/plugins/local/internal/failpoint"
)

// start begins the agent in a session of its own, so that it outlives plugin and
// manager and all of it can be found again by the session.
//
// The process is recorded after it was started. Where a crash comes between, the
// key may be started again; the second agent finds the lock held and ends.
func (m *machine) start(d directory, runner string, instance Instance) error {
	command := m.command(d, runner, instance)
	log, err := os.OpenFile(d.path(agentLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	failpoint.AgentUnrecorded.Hit()
	process := identify(command.Process.Pid)
	if err := writeJSON(d.path(startedFile), process); err != nil {
		// Without the record it still holds its lock and is found by it.
		m.logger.Warn("the agent's process could not be recorded", "instance", string(d), "error", err)
	}
	failpoint.AgentRecorded.Hit()
	go func() {
		err := command.Wait() // reaps it; it belongs to no one else while the plugin lives
		m.logger.Info("an agent has ended", "instance", path.Base(string(d)), "end", endOf(err))
	}()
	return nil
}

func endOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// command is pure: what is run for the directory, and with what.
func (m *machine) command(d directory, runner string, instance Instance) *exec.Cmd {
	line := slices.Clone(m.wrap)
	if len(line) > 0 {
		line = append(line, "--unit=forgeyard-fleet-local-"+path.Base(string(d)), "--")
	}
	if instance.Nice != 0 {
		line = append(line, "nice", "-n", strconv.Itoa(instance.Nice))
	}
	line = append(line, runner, "--bootstrap", d.path(bootstrapFile), "--state", d.path(agentFolder), "--lock",
		d.path(lockFile))
	command := exec.Command(line[0], line[1:]...)
	command.Dir = string(d)
	command.Env = slices.Clone(m.environment)
	for _, name := range slices.Sorted(maps.Keys(instance.Env)) {
		command.Env = append(command.Env, name+"="+instance.Env[name])
	}
	command.Env = append(command.Env, hostMark+"="+string(d))
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return command
}

// hostMark is passed on by the agent to all of its jobs. Its value is the
// directory, and so no other instance's on this machine.
const hostMark = "FORGEYARD_HOST_MARK"

// passedOn are the variables of the plugin that an agent gets. Proxies and
// credentials aren't among them: jobs run below the agent.
var passedOn = []string{
	"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER",
	"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", // systemd-run --user
}

func agentEnvironment(own []string) []string {
	var passed []string
	for _, variable := range own {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(passedOn, name) {
			passed = append(passed, variable)
		}
	}
	return passed
}
