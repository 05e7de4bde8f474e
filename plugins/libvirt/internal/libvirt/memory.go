package libvirt

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// memory remembers, in the folder that may be emptied, which pool each host had and
// how many machines of ours. Without it a host that is taken from the block, or a
// name that leads to another host now, would make everything there look gone while
// it runs. A host is known by its pool, which keeps its UUID for good; its own
// UUID it may generate again at each start.
type memory struct {
	file string // empty: nothing is remembered

	mutex sync.Mutex
	known map[string]knownHost
}

type knownHost struct {
	Pool     string `json:"pool"` // its UUID
	Machines int    `json:"machines"`
}

const memoryFile = "hosts.json"

func recall(folder string) (*memory, error) {
	m := &memory{known: map[string]knownHost{}}
	if folder == "" {
		return m, nil
	}
	m.file = filepath.Join(folder, memoryFile)
	content, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &m.known)
	}
	if err != nil {
		return nil, fmt.Errorf("recall the hosts: %w; where the file is damaged, delete it", err)
	}
	return m, nil
}

// same refuses a host whose pool is another one than it was, as long as that one
// had machines.
func (m *memory) same(h *host, pool api.StoragePool) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	is, was := hex.EncodeToString(pool.UUID[:]), m.known[h.name]
	if was.Machines > 0 && was.Pool != is {
		return &provider.Error{Class: provider.Invalid, Err: fmt.Errorf(
			"the pool %s of host %s is another one now (%s) than the one that had %d machines, disks and seeds (%s): if the "+
				"name leads to another host now, give that one a name of its own and keep the old one in the block; where its "+
				"machines are gone for good, delete %s",
			h.pool, h.name, is, was.Machines, was.Pool, m.file)}
	}
	was.Pool = is
	m.known[h.name] = was
	return nil
}

// check takes in a list of every host of the block, and refuses to call it
// complete while a host that had machines is missing from the block.
func (m *memory) check(all []*host, seen [][]provider.Resource) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	before := maps.Clone(m.known)
	missing := maps.Clone(m.known)
	for n, h := range all {
		delete(missing, h.name)
		m.known[h.name] = knownHost{Pool: m.known[h.name].Pool, Machines: len(seen[n])}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if had := missing[name].Machines; had > 0 {
			return &provider.Error{Class: provider.Invalid, Err: fmt.Errorf(
				"host %s is no longer in the block and had %d machines, disks and seeds when it was seen last: put it back until "+
					"they are gone, or, where they are gone for good, delete %s",
				name, had, m.file)}
		}
		delete(m.known, name)
	}
	if m.file == "" || maps.Equal(before, m.known) {
		return nil
	}
	return m.store()
}

// remember counts a machine at once, not only when it is listed.
func (m *memory) remember(h *host) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	was := m.known[h.name]
	if was.Machines > 0 {
		return nil
	}
	was.Machines = 1
	m.known[h.name] = was
	if m.file == "" {
		return nil
	}
	return m.store()
}

func (m *memory) store() error {
	content, err := json.MarshalIndent(m.known, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		return fmt.Errorf("remember the hosts: %w", err)
	}
	beside := m.file + ".new"
	if err := os.WriteFile(beside, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("remember the hosts: %w", err)
	}
	return os.Rename(beside, m.file)
}
