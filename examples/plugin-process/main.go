// Command forgeyard-plugin-process is a whole provider plugin: every instance is
// an agent process here, in a directory named by its key. The agent locks
// DIR/lock for life and writes its pid there: a second start ends by itself.
package main

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

type Config struct { // provider "process" { ... }
	Root   string `fleet:"root,required" doc:"Folder that holds one directory for each instance."`
	Runner string `fleet:"runner,required" doc:"The agent's binary, forgeyard-runner."`
}

type Instance struct { // fleet "x" { instance { ... } }
	Shell string `fleet:"shell,immutable" default:"/bin/sh" doc:"SHELL in the agent's environment."`
}

type processes struct{ Config }

func (p processes) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		entries, err := os.ReadDir(p.Root)
		if err != nil {
			yield(provider.Resource{}, err)
		}
		for _, entry := range entries {
			if err != nil || !yield(p.resource(entry.Name()), nil) {
				return
			}
		}
	}
}

func (p processes) Provision(_ context.Context, r provider.ProvisionRequest[Instance]) (provider.Resource, error) {
	directory, instance := filepath.Join(p.Root, r.Key), p.resource(r.Key)
	_, err := os.Stat(directory)
	instance.Existed = err == nil
	if instance.State != provider.Pending {
		return instance, nil // its agent has run: it is never started again
	}
	if _, err := exec.LookPath(p.Runner); err != nil && !instance.Existed {
		return provider.Resource{}, provider.NotCreated(provider.Invalid, err)
	}
	document := filepath.Join(directory, "bootstrap.json")
	if err := errors.Join(os.MkdirAll(directory, 0o700), r.Bootstrap.Write(document)); err != nil {
		return provider.Resource{}, err // unknown: an inspection will show the directory
	}
	agent := exec.Command(p.Runner, "--bootstrap", document, "--state", filepath.Join(directory, "agent"), "--lock",
		filepath.Join(directory, "lock"))
	agent.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + directory, "SHELL=" + r.Instance.Shell}
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this plugin
	defer func() { go agent.Wait() }()
	return instance, agent.Start()
}

// Terminate takes the lock before it removes the directory, lest an agent be just starting.
func (p processes) Terminate(_ context.Context, ref provider.Ref) (provider.TerminateState, error) {
	if ref.Key == "" || ref.ID != "" && ref.ID != ref.Key {
		return provider.Refused, errors.New("an instance is known by its key alone, which is its id")
	}
	lock, err := os.OpenFile(filepath.Join(p.Root, ref.Key, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if os.IsNotExist(err) {
		return provider.Gone, nil
	} else if err != nil {
		return provider.TerminateUnknown, err
	}
	defer lock.Close()
	for syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		if pid, running := p.agent(ref.Key); running {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	return provider.Gone, os.RemoveAll(filepath.Join(p.Root, ref.Key))
}

// agent gives the pid that the key's agent wrote, 0 before it did, and whether
// it runs. A file without a pid isn't probed: its agent may be about to lock it.
func (p processes) agent(key string) (pid int, running bool) {
	lock, err := os.Open(filepath.Join(p.Root, key, "lock"))
	if err != nil {
		return 0, false
	}
	defer lock.Close()
	text, _ := os.ReadFile(lock.Name())
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	return pid, pid > 0 && syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

func (p processes) resource(key string) provider.Resource {
	state := provider.Pending
	if pid, running := p.agent(key); running {
		state = provider.Running
	} else if pid > 0 {
		state = provider.Stopped
	}
	return provider.Resource{ID: key, Key: key, State: state}
}

func main() {
	provider.Serve(provider.Plugin[Config, Instance]{
		Name: "process", Version: "0.1.0", Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipNamed,
		New: func(_ context.Context, c Config, _ provider.Environment) (provider.Provider[Instance], error) {
			return processes{c}, os.MkdirAll(c.Root, 0o700)
		},
	})
}
