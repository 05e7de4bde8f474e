package replay

import (
	"errors"
	"io"
)

// maxRow bounds one row in bytes. A quote that is never closed would make the rest
// of the file one row.
const maxRow = 1 << 20

// boundedRows is a file in which no row is longer than maxRow.
type boundedRows struct {
	from io.Reader
	read int
	long bool
	// failed is why the file couldn't be read on.
	failed error
}

func (b *boundedRows) next() { b.read = 0 }

func (b *boundedRows) Read(p []byte) (int, error) {
	if b.read > maxRow {
		b.long = true
		return 0, io.ErrNoProgress
	}
	n, err := b.from.Read(p)
	b.read += n
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed = err
	}
	return n, err
}
