package isolation

import (
	"slices"
	"testing"
)

func TestObjectsGivenAwayAreFoundByTheirCreator(t *testing.T) {
	const shm = `       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
         0          1  1600                  4096    10    10      0 60600 60600 60600 60600          0          0          0                     0                     0
         0          2  1600                  4096    10    10      0     0     0     0     0          0          0          0                     0                     0
         0          3  1600                  4096    10    10      0  1000 60600 60600 60600          0          0          0                     0                     0
         0      60600  1600                  4096 60600 60600      0     0 60600     0 60600          0          0          0                     0                     0
`
	if ids := ipcOf(shm, 60600); !slices.Equal(ids, []int{1, 3}) {
		t.Errorf("found %v, want 1 and 3", ids)
	}
	if ids := ipcOf("", 60600); ids != nil {
		t.Errorf("in nothing: %v", ids)
	}
}
