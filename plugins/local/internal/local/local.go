//go:build linux || darwin

// Package local is the provider "local": an instance is an agent process on this
// machine, and root/KEY/ is the infrastructure. It never decides what runs, and
// keeps nothing outside the root that it couldn't do without:
//
//	root/KEY/resource.json   whose it is: written first, never changed
//	root/KEY/bootstrap.json  the first-boot document, secret (0600)
//	root/KEY/started         the process that was started, to know it again
//	root/KEY/lock            held by the agent for its life, with its pid
//	root/KEY/terminating     a removal has begun: never start it again
//	root/KEY/agent/          the agent's own state
//	root/KEY/agent.log       what it printed
//	root/.forgeyard-local    which root this is
//	root/.tmp-KEY-*          a directory in the making
//	root/.gone-KEY           one that is being deleted
//
// KEY appears by one rename, complete, before the start, and disappears by one
// rename after the end. So a crash at any moment leaves a state that the next
// look understands.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Config is the block provider "local".
type Config struct {
	Root   string `fleet:"root" doc:"Folder of the instances, as an absolute path. By default forgeyard-fleet-local/INSTALLATION in $XDG_STATE_HOME, or in ~/.local/state."`
	Runner string `fleet:"runner" doc:"Absolute path of the agent's binary, forgeyard-runner. By default it is downloaded from the manager and checked by its hash."`
}

// Validate refuses relative paths: a plugin has no working directory of yours.
func (c Config) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	for name, path := range map[string]string{"root": c.Root, "runner": c.Runner} {
		if path != "" && !filepath.IsAbs(path) {
			found = append(found, provider.Diagnostic{
				Summary: "Relative path", Path: provider.At(name),
				Detail: fmt.Sprintf("%q must be an absolute path.", path),
			})
		}
	}
	return found
}

// Instance is the instance block of a fleet.
type Instance struct {
	Nice  int               `fleet:"nice,immutable" default:"0" doc:"Scheduling priority of the agent and its jobs, from 0 to 19 (lowest)."`
	Env   map[string]string `fleet:"env,immutable" doc:"More environment variables for the agent."`
	Label string            `fleet:"label" doc:"A note that is shown with the instance."`
}

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate checks what types can't say.
func (i Instance) Validate() []provider.Diagnostic {
	var found []provider.Diagnostic
	if i.Nice < 0 || i.Nice > 19 {
		found = append(found, provider.Diagnostic{
			Summary: "Priority out of range", Path: provider.At("nice"),
			Detail: fmt.Sprintf("nice is from 0 to 19, not %d; less than 0 would need root.", i.Nice),
		})
	}
	for name := range i.Env {
		if !variablePattern.MatchString(name) {
			found = append(found, provider.Diagnostic{
				Summary: "Bad variable name", Path: provider.At("env").Attr(name),
				Detail: "A name has letters, digits and underscores, and doesn't begin with a digit.",
			})
		}
	}
	return found
}

// machine is this machine as a provider.
type machine struct {
	root         string
	rootID       string // of its mark
	stateDir     string // a cache that may be emptied; empty: none
	installation string
	runner       runnerSource
	logger       *slog.Logger
	now          func() time.Time
	environment  []string // what agents are started with
	wrap         []string // a command that agents are started through
	grace        time.Duration
}

// terminateGrace is how long an agent may take to leave by itself.
const terminateGrace = 10 * time.Second

// Plugin is the plugin for Serve.
func Plugin(version string) provider.Plugin[Config, Instance] {
	return provider.Plugin[Config, Instance]{
		Name: "local", Version: version, New: newMachine,
		Idempotency: provider.IdempotentByTag,
		Ownership:   provider.OwnershipNamed,

		Attestations: []string{provider.AttestKVM}, Unattestable: unattestable,
	}
}

func newMachine(
	_ context.Context, config Config, environment provider.Environment,
) (provider.Provider[Instance], error) {
	root, err := rootOf(config, environment.Installation, os.Getenv)
	if err != nil {
		return nil, err
	}
	rootID, err := openRoot(root, environment.Installation, environment.StateDir)
	if err != nil {
		return nil, err
	}
	if config.Runner != "" {
		if _, err := exec.LookPath(config.Runner); err != nil {
			return nil, provider.Diagnostic{Summary: "The agent's binary can't be run", Detail: err.Error(),
				Path: provider.At("runner")}
		}
	}
	cache := environment.StateDir
	if cache == "" {
		cache = root
	}
	m := &machine{
		root:         root,
		rootID:       rootID,
		stateDir:     environment.StateDir,
		installation: environment.Installation,
		runner:       newRunnerSource(config.Runner, filepath.Join(cache, ".cache")),
		logger:       environment.Logger,
		now:          time.Now,
		environment:  agentEnvironment(os.Environ()),
		wrap:         scopeCommand(ownCgroup(), os.Getuid(), exec.LookPath, os.Getenv),
		grace:        terminateGrace,
	}
	m.sweep()
	environment.SetAccount(account(root, rootID))
	return m, nil
}

// rootOf resolves the default folder, one for each installation.
func rootOf(config Config, installation string, getenv func(string) string) (string, error) {
	if config.Root != "" {
		return filepath.Clean(config.Root), nil
	}
	if installation == "" || installation != filepath.Base(installation) {
		return "", fmt.Errorf("the installation %q can't name a folder; set root in the block provider \"local\"",
			installation)
	}
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New(`neither XDG_STATE_HOME nor HOME is set; set root in the block provider "local"`)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "forgeyard-fleet-local", installation), nil
}
