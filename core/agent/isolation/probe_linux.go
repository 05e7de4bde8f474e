package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// probeRequest is what a process with a job's credentials tries.
type probeRequest struct {
	Closed    []string `json:"closed"`    // files and folders that must not open for reading
	Kept      []string `json:"kept"`      // files and folders that must not be writable
	Addresses []string `json:"addresses"` // that this host must forbid
}

// probeAnswer is what it found.
type probeAnswer struct {
	Open    []string `json:"open"` // "can read …": what must not be; none: isolated
	Tried   int      `json:"tried"`
	Dialled int      `json:"dialled"`
}

// firstBootData is where hosts keep what their first boot was told, with the
// token in it. Patterns; most hosts have a few.
var firstBootData = []string{
	"/var/lib/cloud/instance/user-data.txt*",
	"/var/lib/cloud/instances/*/user-data.txt*",
	"/var/lib/cloud/instances/*/obj.pkl",
	"/var/lib/cloud/instances/*/scripts/*",
	"/var/lib/cloud/seed/*/user-data",
	"/run/cloud-init/instance-data-sensitive.json",
	"/run/cloud-init/combined-cloud-config.json",
	"/var/log/cloud-init-output.log",
	"/var/lib/waagent/ovf-env.xml",
	"/var/lib/waagent/CustomData",
	"/run/ignition.json",
	"/dev/disk/by-label/cidata", "/dev/disk/by-label/CIDATA", "/dev/disk/by-label/config-2", "/dev/disk/by-label/CONFIG-2",
}

// probeRequestFor is made by the agent, which sees names that a job doesn't.
func probeRequestFor(h Host) probeRequest {
	r := probeRequest{Addresses: metadataAddresses, Kept: []string{h.StateDir}}
	r.Closed = append(r.Closed, h.StateDir, h.LockFile)
	if entries, err := os.ReadDir(h.StateDir); err == nil {
		for _, entry := range entries {
			r.Closed = append(r.Closed, filepath.Join(h.StateDir, entry.Name()))
		}
	}
	if h.BootstrapFile != "" {
		r.Closed = append(r.Closed, h.BootstrapFile)
		r.Kept = append(r.Kept, h.BootstrapFile, filepath.Dir(h.BootstrapFile))
	}
	proc := "/proc/" + strconv.Itoa(os.Getpid())
	for _, name := range []string{"environ", "mem", "maps", "fd", "cwd", "root"} {
		r.Closed = append(r.Closed, filepath.Join(proc, name))
	}
	for _, pattern := range firstBootData {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		r.Closed = append(r.Closed, found...)
	}
	// Who can write the agent's program is root at its next start.
	if program, err := os.Executable(); err == nil {
		r.Kept = append(r.Kept, program, filepath.Dir(program))
	}
	return r
}

// try does what was asked for, the addresses side by side.
func (r probeRequest) try() probeAnswer {
	answer := probeAnswer{Tried: len(r.Closed) + len(r.Kept), Dialled: len(r.Addresses), Open: []string{}}
	for _, path := range r.Closed {
		if finding := readFinding(path); finding != "" {
			answer.Open = append(answer.Open, finding)
		}
	}
	for _, path := range r.Kept {
		if unix.Access(path, unix.W_OK) == nil && !sticky(path) {
			answer.Open = append(answer.Open, "can write "+path)
		}
	}
	findings := make([]string, len(r.Addresses))
	var all sync.WaitGroup
	for i, address := range r.Addresses {
		all.Go(func() { findings[i] = dialFinding(address) })
	}
	all.Wait()
	for _, finding := range findings {
		if finding != "" {
			answer.Open = append(answer.Open, finding)
		}
	}
	return answer
}

// readFinding says that a file opens; empty: it doesn't, or isn't there.
func readFinding(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		_ = unix.Close(fd)
		return "can read " + path
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOMEDIUM):
		return ""
	}
	return fmt.Sprintf("may read %s (%v)", path, err)
}

// sticky says of a folder like /tmp that who may write in it can't touch what
// others have there.
func sticky(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Mode()&fs.ModeSticky != 0 && ownerOf(info) != os.Getuid()
}

// dialTime bounds one try of an address.
const dialTime = time.Second

// dialFinding says that this host doesn't forbid an address; empty: it does. That
// nothing answers proves nothing: a service may be slow, or come later.
func dialFinding(address string) string {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(address, "80"), dialTime)
	switch {
	case err == nil:
		_ = connection.Close()
		return "can reach the metadata address " + address
	case errors.Is(err, syscall.ECONNREFUSED):
		return "can reach the metadata address " + address + ", where nothing listens"
	case errors.Is(err, fs.ErrPermission): // EACCES and EPERM: forbidden here
		return ""
	case errors.Is(err, syscall.EAFNOSUPPORT), errors.Is(err, syscall.EADDRNOTAVAIL): // a host without IPv6
		return ""
	}
	return fmt.Sprintf("is not blocked from the metadata address %s (%v)", address, err)
}
