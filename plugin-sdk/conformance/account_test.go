package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// account is an infrastructure in memory. It outlives the plugins that use it,
// as a real one does.
type account struct {
	mutex sync.Mutex
	next  int
	// resources by id; of an inventory, its hosts are among them from the start.
	resources map[string]provider.Resource
	ended     map[string]bool // ids that were removed
	// owners are the installations that made what isn't an asset, by id.
	owners map[string]string
	down   bool
}

func newAccount(hosts ...string) *account {
	a := &account{resources: map[string]provider.Resource{}, ended: map[string]bool{}, owners: map[string]string{}}
	for _, host := range hosts {
		a.resources[host] = provider.Resource{
			ID: host, Kind: providerpb.AssetKind, State: provider.Running,
			Tags: map[string]string{providerpb.AssetOS: "linux", providerpb.AssetArch: "x86_64"},
		}
	}
	return a
}

// add makes an instance under a new id.
func (a *account) add(request provider.ProvisionRequest[instance]) provider.Resource {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.next++
	made := provider.Resource{
		ID: fmt.Sprintf("i-%d", a.next), Key: request.Key, Fleet: request.Fleet, State: provider.Running,
		Tags: maps.Clone(request.Tags), InstanceDigest: request.InstanceDigest,
	}
	if len(request.Offers) > 0 {
		made.Zone, made.MachineType = request.Offers[0].Zone, request.Offers[0].MachineType
	}
	a.resources[made.ID] = made
	return made
}

// change changes one resource, if it is there.
func (a *account) change(id string, how func(*provider.Resource)) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if resource, there := a.resources[id]; there {
		how(&resource)
		a.resources[id] = resource
	}
}

// list gives everything in the order of the ids.
func (a *account) list() ([]provider.Resource, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.down {
		return nil, errors.New("the account can't be reached")
	}
	var all []provider.Resource
	for _, id := range slices.Sorted(maps.Keys(a.resources)) {
		all = append(all, a.resources[id])
	}
	return all, nil
}

// find gives what carries the key.
func (a *account) find(key string) []provider.Resource {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var found []provider.Resource
	for _, id := range slices.Sorted(maps.Keys(a.resources)) {
		if a.resources[id].Key == key {
			found = append(found, a.resources[id])
		}
	}
	return found
}

func (a *account) drop(id string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.resources, id)
	a.ended[id] = true
}

func (a *account) setDown(down bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.down = down
}

// config and instance are the two blocks.
type config struct {
	Region   string `fleet:"region,required" doc:"Where to build."`
	Password string `fleet:"password,sensitive" doc:"The account's password."`
	Disk     *disk  `fleet:"disk,block" doc:"The disk of every instance."`
}

type disk struct {
	Sizes []int `fleet:"sizes" default:"[1]" doc:"Their sizes."`
}

type instance struct {
	Size  int               `fleet:"size,required" doc:"How large."`
	Label map[string]string `fleet:"label" doc:"What it is for."`
}

// Validate refuses what the type allows.
func (i instance) Validate() []provider.Diagnostic {
	if i.Size < 0 {
		return []provider.Diagnostic{{Summary: "Too small", Path: provider.At("size")}}
	}
	return nil
}

// honest is a provider as it should be, on the SDK. The plugins with one fault each are
// made of it, so that the kit is seen to find that fault and no other.
type honest struct {
	*account
	installation string
	// lifetime ends with the plugin's process.
	lifetime context.Context
	// work is how long a create takes.
	work time.Duration
}

// add makes an instance of the installation.
func (h honest) add(request provider.ProvisionRequest[instance]) provider.Resource {
	made := h.account.add(request)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.owners[made.ID] = h.installation
	return made
}

// list gives what isn't another installation's.
func (h honest) list() ([]provider.Resource, error) {
	all, err := h.account.list()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.DeleteFunc(all, func(r provider.Resource) bool {
		owner := h.owners[r.ID]
		return owner != "" && owner != h.installation
	}), err
}

func (h honest) Inspect(context.Context, provider.Query) iter.Seq2[provider.Resource, error] {
	return func(yield func(provider.Resource, error) bool) {
		all, err := h.list()
		if err != nil {
			yield(provider.Resource{}, err)
			return
		}
		for _, resource := range all {
			if !yield(resource, nil) {
				return
			}
		}
	}
}

func (h honest) Provision(_ context.Context, request provider.ProvisionRequest[instance]) (provider.Resource, error) {
	if request.Asset != "" {
		return h.claim(request)
	}
	if made := h.find(request.Key); len(made) > 0 {
		made[0].Existed = true
		return made[0], nil
	}
	if h.work > 0 {
		<-time.After(h.work)
	}
	return h.add(request), nil
}

// claim takes a host of the inventory for the key.
func (h honest) claim(request provider.ProvisionRequest[instance]) (provider.Resource, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	host, there := h.resources[request.Asset]
	switch {
	case !there:
		return provider.Resource{}, provider.NotCreated(provider.Invalid, errors.New("host not found"))
	case host.Key != "" && host.Key != request.Key:
		return provider.Resource{}, provider.NotCreated(provider.Conflict, errors.New("another key holds the host"))
	}
	existed := host.Key == request.Key
	host.Key, host.Kind, host.Fleet, host.InstanceDigest = request.Key, "", request.Fleet, request.InstanceDigest
	h.resources[host.ID] = host
	host.Existed = existed
	return host, nil
}

func (h honest) Terminate(_ context.Context, ref provider.Ref) (provider.TerminateState, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for id, resource := range h.resources {
		switch {
		case ref.ID != "" && ref.ID != id, ref.ID == "" && ref.Key != resource.Key:
		case resource.Tags[providerpb.AssetOS] != "":
			if resource.Key == "" || resource.Key == ref.Key {
				resource.Key, resource.Kind, resource.Fleet, resource.InstanceDigest = "", providerpb.AssetKind, "", ""
				h.resources[id] = resource
				return provider.Gone, nil
			}
			return provider.Refused, errors.New("another key holds the host")
		case ref.Key != "" && resource.Key != ref.Key:
			return provider.Refused, errors.New("it carries another key")
		default:
			delete(h.resources, id)
			h.ended[id] = true
			return provider.Gone, nil
		}
	}
	return provider.Gone, nil
}
