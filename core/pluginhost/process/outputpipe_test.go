//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestOutputIsReadAfterTheDeadlineToo(t *testing.T) {
	for name, over := range map[string]bool{"the writer is open": false, "the writer is closed": true} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll(read, write)
			if _, err := write.WriteString("the last words"); err != nil {
				t.Fatal(err)
			}
			want := os.ErrDeadlineExceeded
			if over {
				want = nil // ReadAll's word for the end
				closeAll(write)
			}
			if err := read.SetReadDeadline(time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(outputPipe{read})
			if string(got) != "the last words" || !errors.Is(err, want) {
				t.Errorf("read %q, %v; want the last words, %v", got, err, want)
			}
		})
	}
}
