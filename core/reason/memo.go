package reason

import "sync"

// Thousands of instances have the same few reasons, such as those of the admission
// checks that they passed. Each is converted once: reasons never change, so what was
// converted can be shared.

// What is remembered at most, and of which size; then the memory begins empty again.
const (
	memoEntries = 4096
	memoBytes   = 1024
)

// memo remembers conversions between reasons and their JSON.
type memo struct {
	mutex sync.RWMutex
	read  map[string]Detail
	wrote map[Detail][]byte
}

var conversions = memo{read: map[string]Detail{}, wrote: map[Detail][]byte{}}

func (m *memo) detailOf(content []byte) (Detail, bool) {
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	d, known := m.read[string(content)]
	return d, known
}

func (m *memo) jsonOf(d Detail) ([]byte, bool) {
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	content, known := m.wrote[d]
	return content, known
}

func (m *memo) keepRead(content []byte, d Detail) {
	if len(content) > memoBytes {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if len(m.read) >= memoEntries {
		clear(m.read)
	}
	m.read[string(content)] = d
}

func (m *memo) keepWrote(d Detail, content []byte) {
	if len(content) > memoBytes {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if len(m.wrote) >= memoEntries {
		clear(m.wrote)
	}
	m.wrote[d] = content
}
