//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// The environment that arms a point: NAME, or NAME#2 for the second time that
// the process passes it, with :wait at the end to hold it there until it is
// killed; and the file that tells that it was reached, which disarms it, so that
// the plugin that is started next lives.
const (
	armedVariable = "FORGEYARD_PLUGIN_FAILPOINT"
	fileVariable  = "FORGEYARD_PLUGIN_FAILPOINT_FILE"
)

var (
	name, wait = strings.CutSuffix(os.Getenv(armedVariable), ":wait")
	pass       = int64(1)
	passed     atomic.Int64
)

func init() {
	before, count, counted := strings.Cut(name, "#")
	if !counted {
		return
	}
	var err error
	if pass, err = strconv.ParseInt(count, 10, 64); err != nil || pass < 1 {
		refuse("%s: after # comes which time the point is passed, from 1", armedVariable)
	}
	name = before
}

// refuse ends a process that a test has armed wrongly.
func refuse(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "failpoint: "+format+"\n", arguments...)
	os.Exit(2)
}

// Hit ends the process at the armed point, as a power cut would.
func (p point) Hit() {
	if string(p) != name || passed.Add(1) != pass {
		return
	}
	file, err := os.OpenFile(os.Getenv(fileVariable), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return
	}
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		refuse("tell that %s was reached: %v", p, err)
	}
	if !wait {
		own, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = own.Kill()
		}
		if err != nil {
			refuse("die at %s: %v", p, err)
		}
	}
	select {} // the end comes from outside, or is on its way
}
