package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crashStore names the store that a child of the crash test writes to.
const crashStore = "FORGEYARD_TEST_CRASH_STORE"

// crashBatch is how many instances each change of the child has.
const crashBatch = 3

// commitUntilKilled is the child: it commits one change after the other and
// says so after each, until it is killed.
func commitUntilKilled(path string) {
	ctx := context.Background()
	s, err := Open(ctx, path)
	if err == nil {
		_, err = s.Claim(ctx, "child", now)
	}
	for n := 0; err == nil; n++ {
		if err = s.Commit(ctx, change(n*crashBatch+1, (n+1)*crashBatch)); err == nil {
			fmt.Println(n)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestWhatWasCommittedSurvivesKill(t *testing.T) {
	path := sqlitePath(t)
	must(t, applied(t, open(t, path)).Close())
	for round, kills := range []int{1, 20, 150} {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashStore+"="+path)
		child.Stderr = os.Stderr
		said, err := child.StdoutPipe()
		must(t, err)
		must(t, child.Start())
		last := -1
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			n, err := strconv.Atoi(lines.Text())
			must(t, err)
			if last = n; n == kills {
				// The child doesn't wait: it is killed somewhere in a later commit.
				must(t, child.Process.Kill())
			}
		}
		_ = child.Wait() // killed
		if last < kills {
			t.Fatalf("round %d: the child ended by itself after change %d", round, last)
		}
		state, err := open(t, path).Load(t.Context())
		must(t, err)
		got := len(state.Instances)
		if got < (last+1)*crashBatch || got%crashBatch != 0 {
			t.Fatalf("round %d: %d instances are there; the child committed %d, whole changes of %d",
				round, got, (last+1)*crashBatch, crashBatch)
		}
		want := change(1, got)
		if diff := cmp.Diff(want, Change{Instances: state.Instances, Operations: state.Operations}); diff != "" {
			t.Fatalf("round %d:\n%s", round, diff)
		}
	}
}
