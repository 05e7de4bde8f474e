//go:build linux || darwin

package local

import (
	"os"
	"path"
	"strings"
)

// scopeCommand is what agents are started through where the plugin runs inside a
// service of systemd: when that service stops, systemd ends its whole control
// group, and agents must outlive it. A scope is a control group of its own.
//
// Without systemd-run, or for a user without a manager of their own, agents stay
// where the plugin is; KillMode=process in the service's unit spares them then.
func scopeCommand(cgroup string, uid int, lookPath func(string) (string, error), getenv func(string) string) []string {
	if !inService(cgroup) {
		return nil
	}
	systemdRun, err := lookPath("systemd-run")
	if err != nil {
		return nil
	}
	command := []string{systemdRun, "--scope", "--quiet", "--collect"}
	if uid == 0 {
		return command
	}
	if getenv("XDG_RUNTIME_DIR") == "" {
		return nil
	}
	return append(command, "--user")
}

// inService says whether the innermost unit of the control group is a service.
// A shell of a desktop is in a scope below user@1000.service, and not in one.
func inService(cgroup string) bool {
	for line := range strings.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || fields[1] != "" && fields[1] != "name=systemd" {
			continue // a controller of cgroup v1 says nothing of units
		}
		for folder := fields[2]; folder != "/" && folder != "."; folder = path.Dir(folder) {
			switch path.Ext(folder) {
			case ".scope":
				return false
			case ".service":
				return true
			}
		}
	}
	return false
}

func ownCgroup() string {
	content, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	return string(content)
}
