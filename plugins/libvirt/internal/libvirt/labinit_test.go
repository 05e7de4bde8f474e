package libvirt

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// initVariable makes this test binary the first process of a lab: its value is the
// lab's folder.
const initVariable = "FORGEYARD_LAB"

func TestMain(m *testing.M) {
	if dir := os.Getenv(initVariable); dir != "" {
		if err := runInit(dir); err != nil {
			fmt.Fprintln(os.Stderr, "the lab can't continue:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	// The tests wait for other processes most of the time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(labCache())
	os.Exit(code)
}

// labFolders of the lab stand where the daemon looks.
var labFolders = map[string]string{
	"etc": "/etc/libvirt", "lib": "/var/lib/libvirt", "run": "/run/libvirt", "cache": "/var/cache/libvirt",
	"log": "/var/log/libvirt",
}

// labCommand starts a lab's first process in namespaces of its own. The kernel ends
// everything in them with it, and it ends with the test.
func labCommand(dir string) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), initVariable+"="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL,
	}
	return c
}

// labInit is the first process: it starts the daemon and sends it signals as it is
// told, and reaps whatever ends, as the daemon's children become its own.
type labInit struct {
	mutex  sync.Mutex
	ended  *sync.Cond
	daemon int // its process; 0: none
}

func runInit(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	for folder, place := range labFolders {
		if err := os.MkdirAll(place, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(filepath.Join(dir, folder), place, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", place, err)
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	var lab labInit
	lab.ended = sync.NewCond(&lab.mutex)
	go lab.reap()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, argument, _ := strings.Cut(lines.Text(), " ")
		if err := lab.execute(command, argument); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		fmt.Println(command)
	}
	return nil
}

func (l *labInit) execute(command, argument string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch command {
	case "start":
		said, err := os.OpenFile("/var/log/libvirt/daemon", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer said.Close()
		program, err := exec.LookPath("libvirtd")
		if err != nil {
			return err
		}
		words := append([]string{program, "--pid-file", "/run/libvirt/libvirtd.pid"}, strings.Fields(argument)...)
		started, err := os.StartProcess(program, words, &os.ProcAttr{Files: []*os.File{nil, said, said}})
		if err != nil {
			return err
		}
		l.daemon = started.Pid
	case "signal":
		number, err := strconv.Atoi(argument)
		if err != nil || l.daemon == 0 {
			return fmt.Errorf("no such signal, or no daemon: %w", err)
		}
		return syscall.Kill(l.daemon, syscall.Signal(number))
	case "full": // a small file system is mounted on the folder, only for the lab
		return syscall.Mount("tmpfs", argument, "tmpfs", 0, "size=8m")
	case "ended":
		for l.daemon != 0 {
			l.ended.Wait()
		}
	}
	return nil
}

// reap waits for everything that ends. Where there is nothing to wait for it waits
// for the signal that something is.
func (l *labInit) reap() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	for range children {
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if pid <= 0 {
				break
			}
			l.mutex.Lock()
			if pid == l.daemon {
				l.daemon = 0
				l.ended.Broadcast()
			}
			l.mutex.Unlock()
		}
	}
}
