//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The environment that arms a point.
const (
	// armedVariable is NAME, or NAME#3 for the third time that the process passes
	// it, and with :wait at the end to hold it there until it is killed.
	armedVariable = "FORGEYARD_FAILPOINT"
	// fileVariable is where the pid goes when the point is reached. While the file
	// exists the point isn't armed: one file is one crash, and tells that it came.
	fileVariable = "FORGEYARD_FAILPOINT_FILE"
	// lifeVariable shortens agents' certificates, since no test waits for half an hour.
	lifeVariable = "FORGEYARD_CERTIFICATE_LIFE"
)

// Enabled says that points can be armed in this build.
const Enabled = true

type arming struct {
	name string
	pass int64
	wait bool
	file string
}

var (
	armed  = parse(os.Getenv(armedVariable), os.Getenv(fileVariable))
	passed atomic.Int64
)

func parse(text, file string) arming {
	a := arming{file: file, pass: 1}
	a.name, a.wait = strings.CutSuffix(text, ":wait")
	name, count, counted := strings.Cut(a.name, "#")
	if counted {
		pass, err := strconv.ParseInt(count, 10, 64)
		if err != nil || pass < 1 {
			refuse("%s=%s: after # comes which time the point is passed, from 1", armedVariable, text)
		}
		a.name, a.pass = name, pass
	}
	if text != "" && file == "" {
		refuse("%s=%s: say in %s which file tells that the point was reached", armedVariable, text, fileVariable)
	}
	return a
}

// refuse ends a process that a test has armed wrongly.
func refuse(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "failpoint: "+format+"\n", arguments...)
	os.Exit(2)
}

// Hit ends the process at the armed point, as a power cut would: nothing that is
// deferred runs, and no buffer is written.
func (p point) Hit() {
	if string(p) != armed.name || passed.Add(1) != armed.pass {
		return
	}
	file, err := os.OpenFile(armed.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return
	}
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		refuse("tell that %s was reached: %v", p, err)
	}
	if !armed.wait {
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

// CertificateLife is how long agents' certificates live: normal, unless a test
// can't wait for their renewal.
func CertificateLife(normal time.Duration) time.Duration {
	text := os.Getenv(lifeVariable)
	if text == "" {
		return normal
	}
	life, err := time.ParseDuration(text)
	if err != nil || life <= 0 {
		refuse("%s=%s is not a positive duration", lifeVariable, text)
	}
	return life
}
