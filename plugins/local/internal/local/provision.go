//go:build linux || darwin

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/local/internal/failpoint"
)

// Provision makes the directory and starts its agent, once. A directory whose
// agent was never started, as a crash leaves it, gets its start now; one whose
// agent has run is returned as it is.
func (m *machine) Provision(
	ctx context.Context, request provider.ProvisionRequest[Instance],
) (provider.Resource, error) {
	if err := m.here(); err != nil {
		// What the key made before may be in the root that isn't here.
		return provider.Resource{}, err
	}
	failpoint.ProvisionBegun.Hit()
	existing, err := m.existing(request.Key)
	if err != nil {
		return provider.Resource{}, err
	}
	d := m.directory(request.Key)
	if existing != nil {
		seen, err := d.condition()
		if err != nil {
			return provider.Resource{}, err
		}
		if seen.begun || d.isTerminating() {
			return *existing, nil
		}
	}
	if err := suits(request); err != nil {
		return m.refuse(existing, provider.Invalid, err)
	}
	runner, err := m.runner.path(ctx, request.Bootstrap)
	if err != nil {
		return m.refuse(existing, provider.Transient, err)
	}
	if existing == nil {
		err := m.create(m.recordOf(request), fileDocument(request.Bootstrap))
		if errors.Is(err, fs.ErrExist) {
			return provider.Resource{}, fmt.Errorf("%s appeared meanwhile; another plugin works in the same root: %w", d, err)
		}
		if err != nil {
			return provider.Resource{}, provider.NotCreated(provider.Transient, fmt.Errorf("make %s: %w", d, err))
		}
	}
	// Also where it exists already: the earlier request may have failed just here.
	if err := syncFolder(m.root); err != nil {
		return provider.Resource{}, err // it is there, and may be gone after a power cut
	}
	failpoint.DirectoryNamed.Hit()
	if err := m.start(d, runner, request.Instance); err != nil {
		if gone := m.erase(d); gone != nil {
			return provider.Resource{}, errors.Join(err, gone)
		}
		return provider.Resource{}, provider.NotCreated(provider.Invalid, err)
	}
	resource, ours, err := m.look(request.Key)
	if err != nil || !ours {
		return provider.Resource{}, cmp.Or(err, fmt.Errorf("%s was started and has disappeared", d))
	}
	resource.Existed = existing != nil
	return resource, nil
}

// existing is what the key has made already; nil: nothing.
func (m *machine) existing(key string) (*provider.Resource, error) {
	resource, ours, err := m.look(key)
	if err != nil {
		return nil, err
	}
	if ours {
		resource.Existed = true
		return &resource, nil
	}
	if _, err := os.Lstat(string(m.directory(key))); !errors.Is(err, fs.ErrNotExist) {
		return nil, provider.NotCreated(provider.Conflict,
			cmp.Or(err, fmt.Errorf("%s exists and isn't an instance of the installation %q", m.directory(key), m.installation)))
	}
	return nil, nil
}

// refuse claims that nothing was created only where nothing was there before.
func (m *machine) refuse(existing *provider.Resource, class provider.Class, err error) (provider.Resource, error) {
	if existing == nil {
		return provider.Resource{}, provider.NotCreated(class, err)
	}
	return provider.Resource{}, &provider.Error{Class: class, Err: err}
}

// suits checks what this machine can't be talked into.
func suits(request provider.ProvisionRequest[Instance]) error {
	architecture := request.Platform.Arch
	if architecture == "x86_64" {
		architecture = "amd64"
	}
	if cmp.Or(request.Platform.OS, runtime.GOOS) != runtime.GOOS ||
		cmp.Or(architecture, runtime.GOARCH) != runtime.GOARCH {
		return fmt.Errorf("this machine is %s on %s, the fleet's image is for %s on %s",
			runtime.GOOS, runtime.GOARCH, request.Platform.OS, request.Platform.Arch)
	}
	if kind := request.Bootstrap.Kind; kind != "" && kind != bootstrap.KindFile {
		return fmt.Errorf("the image's bootstrap kind is %q; provider \"local\" takes only %q", kind, bootstrap.KindFile)
	}
	return request.Bootstrap.Check()
}

func fileDocument(document bootstrap.Document) bootstrap.Document {
	document.Kind = bootstrap.KindFile
	return document
}

func (m *machine) recordOf(request provider.ProvisionRequest[Instance]) record {
	return record{
		Key: request.Key, Installation: m.installation, Fleet: request.Fleet, Name: request.Name,
		Label: request.Instance.Label, Image: request.Image, InstanceDigest: request.InstanceDigest,
		Tags: request.Tags, Created: m.now().UTC(),
	}
}
