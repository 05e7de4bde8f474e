package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	unitPath    = "/etc/systemd/system/forgeyard-runner.service"
	plistPath   = "/Library/LaunchDaemons/io.github.forgeyard.runner.plist"
	launchdName = "io.github.forgeyard.runner"
)

// serviceOf is how the agent becomes a service on this system for this user; nil:
// it can't.
func serviceOf(system string, uid int) func(context.Context, string) (string, error) {
	switch _, err := os.Stat("/run/systemd/system"); {
	case uid != 0:
		return nil
	case system == "linux" && err == nil: // systemd is what runs here
		return startBySystemd
	case system == "darwin":
		return startByLaunchd
	}
	return nil
}

// unit is the service of systemd. A refusal for good is final, and so is an end
// that the manager knows of; everything else is tried again.
func unit(folder string) string {
	return fmt.Sprintf(`# Written by "forgeyard-runner join".
[Unit]
Description=Agent of forgeyard-fleet
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=%s %s
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=%d
# The agent ends its job; what is left afterwards is killed.
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`, binaryIn(folder), strings.Join(agentArguments(folder), " "), exitRefused)
}

// plist is the daemon of launchd, which starts again whatever ends with another
// status than 0: so a refusal for good ends with 0.
func plist(folder string) string {
	var arguments strings.Builder
	for _, word := range append(append([]string{binaryIn(folder)}, agentArguments(folder)...), "--refused-status", "0") {
		arguments.WriteString("\t\t<string>")
		_ = xml.EscapeText(&arguments, []byte(word)) // a builder takes everything
		arguments.WriteString("</string>\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + launchdName + `</string>
	<key>ProgramArguments</key>
	<array>
` + arguments.String() + `	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ExitTimeOut</key>
	<integer>60</integer>
	<key>StandardErrorPath</key>
	<string>` + logIn(folder) + `</string>
</dict>
</plist>
`
}

// servicePath is what a service's file takes without quoting.
var servicePath = regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)

func fitsService(folder string) error {
	if servicePath.MatchString(folder) {
		return nil
	}
	return fmt.Errorf(
		"folder %q can't be written into a service file: use letters, digits, '.', '-' and '_' only, set with %s",
		folder,
		homeVariable,
	)
}

func startBySystemd(ctx context.Context, folder string) (string, error) {
	if err := fitsService(folder); err != nil {
		return "", err
	}
	if err := os.WriteFile(unitPath, []byte(unit(folder)), 0o644); err != nil {
		return "", err
	}
	name := filepath.Base(unitPath)
	return "journalctl -u " + name, errors.Join(
		command(
			ctx,
			"systemctl",
			"daemon-reload",
		),
		command(ctx, "systemctl", "enable", name),
		command(ctx, "systemctl", "restart", name),
	)
}

func startByLaunchd(ctx context.Context, folder string) (string, error) {
	if err := fitsService(folder); err != nil {
		return "", err
	}
	if err := os.WriteFile(plistPath, []byte(plist(folder)), 0o644); err != nil {
		return "", err
	}
	_ = command(ctx, "launchctl", "bootout", "system/"+launchdName) // it fails where none is loaded
	return logIn(folder), command(ctx, "launchctl", "bootstrap", "system", plistPath)
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// startInBackground starts the agent in a session of its own, so that it outlives the
// shell, with its output in the log.
func startInBackground(folder string) (ended <-chan int, pid int, err error) {
	log, err := os.OpenFile(logIn(folder), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	c := exec.Command(binaryIn(folder), agentArguments(folder)...)
	c.Dir, c.Stdout, c.Stderr, c.SysProcAttr = folder, log, log, ownSession()
	if err := c.Start(); err != nil {
		return nil, 0, err
	}
	status := make(chan int, 1)
	go func() {
		_ = c.Wait() // the status tells
		status <- c.ProcessState.ExitCode()
	}()
	return status, c.Process.Pid, nil
}
