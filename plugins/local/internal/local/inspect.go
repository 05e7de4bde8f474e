//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"regexp"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Inspect yields every directory of the installation. A directory that can't be
// read makes the list incomplete; one that disappears meanwhile doesn't.
func (m *machine) Inspect(ctx context.Context, _ provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		if err := m.here(); err != nil {
			yield(provider.Resource{}, err)
			return
		}
		entries, err := os.ReadDir(m.root)
		if err != nil {
			yield(provider.Resource{}, fmt.Errorf("list the instances: %w", err))
			return
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") || !entry.IsDir() {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(provider.Resource{}, err)
				return
			}
			resource, ours, err := m.look(entry.Name())
			if err != nil {
				yield(provider.Resource{}, fmt.Errorf("look at instance %s: %w", entry.Name(), err))
				return
			}
			if ours && !yield(resource, nil) {
				return
			}
		}
		// A root that went away meanwhile took its instances out of sight.
		if err := m.here(); err != nil {
			yield(provider.Resource{}, err)
		}
	}
}

// keyShape is what the manager's keys look like. Only under such a name can a
// record that can't be read be one of ours.
var keyShape = regexp.MustCompile(`^[0-9a-z]{26}$`)

// look reads one directory. What isn't an instance of this installation isn't ours.
func (m *machine) look(key string) (resource provider.Resource, ours bool, err error) {
	d := m.directory(key)
	content, err := d.record()
	if errors.Is(err, fs.ErrNotExist) {
		return provider.Resource{}, false, nil
	}
	if err != nil && !keyShape.MatchString(key) {
		return provider.Resource{}, false, nil // somebody's own, whatever it is
	}
	if err != nil {
		return provider.Resource{}, false, err
	}
	if content.Installation != m.installation || content.Key != key {
		return provider.Resource{}, false, nil
	}
	seen, err := d.condition()
	if err != nil {
		return provider.Resource{}, false, err
	}
	return provider.Resource{
		ID: key, Key: content.Key, Fleet: content.Fleet, State: seen.state,
		Created: content.Created, InstanceDigest: content.InstanceDigest,
		Tags: content.Tags, Image: content.Image, Detail: detail(d, content, seen), Attested: attested(),
	}, true, nil
}

// attested is what this machine's kernel offers to the user that runs the agents.
func attested() []string {
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	_ = kvm.Close()
	return []string{provider.AttestKVM}
}

// unattestable rules kvm out on a machine that hasn't got it.
func unattestable(Config, Instance) []provider.Unattestable {
	if len(attested()) > 0 {
		return nil
	}
	return []provider.Unattestable{{
		Attestation: provider.AttestKVM, Reason: "this machine has no /dev/kvm that may be opened",
	}}
}

func detail(d directory, content record, seen condition) string {
	var text string
	switch {
	case seen.pid != 0:
		text = fmt.Sprintf("agent process %d", seen.pid)
	case seen.state == provider.Stopped:
		text = "the agent has ended; its output is in " + d.path(agentLog)
	case seen.state == provider.Pending && !seen.begun:
		text = "not started yet"
	case seen.state == provider.Pending:
		text = "the agent is starting"
	}
	if content.Label != "" {
		return strings.TrimPrefix(text+"; "+content.Label, "; ")
	}
	return text
}
