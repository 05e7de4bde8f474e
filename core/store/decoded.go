package store

import "sync"

// decodedLimit bounds how many records of a kind are remembered. It is more than the
// hosts of one manager; where it is passed, all are forgotten.
const decodedLimit = 16384

// decoded remembers records by their bytes. An agent's beat reads the same rows as
// the one before, and decoding them would be more than asking the database. The zero
// value is ready for use.
type decoded[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// of is what decode makes of the record, the same value for the same bytes: what
// it points to must not be changed.
func (d *decoded[T]) of(record []byte) (T, error) {
	d.mu.Lock()
	value, ok := d.known[string(record)]
	d.mu.Unlock()
	if ok {
		return value, nil
	}
	value, err := decode[T](row{record: record})
	if err != nil {
		return value, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= decodedLimit {
		d.known = map[string]T{}
	}
	d.known[string(record)] = value
	return value, nil
}
