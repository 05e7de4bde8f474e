//go:build unix

package connection

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestStateOfAnotherUserNamesTheUser(t *testing.T) {
	dir := t.TempDir()
	denied := fmt.Errorf("open the SQLite store: %w", fs.ErrPermission)
	if err := ofAnotherUser(dir, denied); err != denied {
		t.Errorf("of one's own directory it says %v", err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make another's directory")
	}
	if err := os.Chown(dir, 1, 1); err != nil {
		t.Skip(err)
	}
	want := "the state directory " + dir +
		" belongs to user daemon: open the SQLite store: permission denied. Run the command as that user with sudo -u " +
		"daemon, or name the running manager with --server"
	if err := ofAnotherUser(dir, denied); strings.Replace(err.Error(), "user 1:", "user daemon:", 1) != want {
		t.Errorf("it says %v\nwant    %s", err, want)
	}
	if err := ofAnotherUser(dir, fs.ErrNotExist); err != fs.ErrNotExist {
		t.Errorf("of another failure it says %v", err)
	}
}
