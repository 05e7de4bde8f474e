package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// What the helper does once it is the job's user.
const (
	helperRun   = "run"   // become the program that follows
	helperProbe = "probe" // try what a job must not be able to
	helperEnd   = "end"   // end every process of the user
	helperSweep = "sweep" // remove what the user left in the kernel
)

// AsJob is the helper that Config.Helper starts: begun as root with the arguments
// WHAT UID GID [PROGRAM...], it becomes the job's user for good and does what it
// was started for. A process can't become another user and lose the way back
// while it is forked, so it needs a program of its own, and this is it.
//
// It gives the exit code, and doesn't return where it becomes the program.
func AsJob(args []string, in io.Reader, out, errs io.Writer) int {
	if err := asJob(args, in, out); err != nil {
		fmt.Fprintf(errs, "forgeyard-runner: %v\n", err)
		return 127
	}
	return 0
}

func asJob(args []string, in io.Reader, out io.Writer) error {
	if len(args) < 3 {
		return errors.New("this command is internal: the agent starts jobs with it")
	}
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("read the job's uid: %w", err)
	}
	gid, err := strconv.Atoi(args[2])
	if err != nil {
		return fmt.Errorf("read the job's gid: %w", err)
	}
	if err := becomeForGood(uid, gid); err != nil {
		return fmt.Errorf("become the user %d of jobs: %w", uid, err)
	}
	switch does := args[0]; {
	case does == helperRun && len(args) > 3:
		return runProgram(args[3:])
	case does == helperProbe:
		var request probeRequest
		if err := json.NewDecoder(in).Decode(&request); err != nil {
			return fmt.Errorf("read the probe request: %w", err)
		}
		return json.NewEncoder(out).Encode(request.try())
	case does == helperEnd:
		// All that this user may signal, which is its own, but not this process.
		if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("end the processes of the user %d: %w", uid, err)
		}
		return nil
	case does == helperSweep:
		return forgetKept(uid)
	}
	return fmt.Errorf("unknown operation %q", args[0])
}

func runProgram(argv []string) error {
	folder, err := os.Getwd()
	if err == nil {
		err = os.Chdir(folder) // it was entered as root
	}
	if err != nil {
		return fmt.Errorf("enter the job's folder: %w", err)
	}
	if argv[0] == OwnProgram {
		return fmt.Errorf("start the job %s: %w", OwnProgram, syscall.Exec("/proc/self/exe", argv, os.Environ()))
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("start the job: %w", err)
	}
	return fmt.Errorf("start the job %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// becomeForGood makes this process one of the user, with that user's own group
// alone, no capability, no file of the agent's open, and no way to more: sudo and
// other programs that change the user don't work below it.
func becomeForGood(uid, gid int) error {
	if uid <= 0 || gid <= 0 {
		return errors.New("jobs never run as root")
	}
	runtime.LockOSThread() // for good: some of this is the thread's alone, and so is exec
	if err := closeOnExec(); err != nil {
		return err
	}
	// Root's keys are in the session's keyring. Where there are no keyrings there is
	// nothing to leave.
	_, _ = unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"leave all groups", func() error { return syscall.Setgroups([]int{}) }},
		{"change the group", func() error { return syscall.Setresgid(gid, gid, gid) }},
		{"change the user", func() error { return syscall.Setresuid(uid, uid, uid) }},
		{"give up what could be inherited", dropCapabilities},
		{"refuse new rights", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return isForGood(uid, gid)
}

// isForGood looks at what the kernel says, so that an odd one is found out.
func isForGood(uid, gid int) error {
	r, e, s := unix.Getresuid()
	rg, eg, sg := unix.Getresgid()
	groups, err := unix.Getgroups()
	if err != nil {
		return err
	}
	capabilities, err := ownCapabilities()
	if err != nil {
		return err
	}
	noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	if r != uid || e != uid || s != uid || rg != gid || eg != gid || sg != gid || len(groups) > 0 ||
		capabilities != [2]unix.CapUserData{} ||
		noNew != 1 {
		return fmt.Errorf("the kernel left it with uids %d %d %d, gids %d %d %d, groups %v, capabilities %v, no_new_privs %d",
			r, e, s, rg, eg, sg, groups, capabilities, noNew)
	}
	return nil
}

var capabilityHeader = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}

func ownCapabilities() (data [2]unix.CapUserData, err error) {
	header := capabilityHeader
	return data, unix.Capget(&header, &data[0])
}

func dropCapabilities() error {
	header := capabilityHeader
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// closeOnExec closes to the program whatever the agent's own starter left open.
func closeOnExec() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list open files: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
