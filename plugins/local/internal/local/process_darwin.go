package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of sys/proc.h.
const zombieState = 5

// processes lists every process that this one may see. The session of another
// user's process isn't told; it is then none of ours.
func processes() ([]process, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]process, 0, len(list))
	for i := range list {
		all = append(all, fromKernel(&list[i]))
	}
	return all, nil
}

func readProcess(pid int) (process, error) {
	found, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	if int(found.Proc.P_pid) != pid {
		return process{}, unix.ESRCH
	}
	return fromKernel(found), nil
}

func fromKernel(k *unix.KinfoProc) process {
	one := process{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), zombie: k.Proc.P_stat == zombieState,
		begun: fmt.Sprintf("%d.%06d", k.Proc.P_starttime.Sec, k.Proc.P_starttime.Usec),
	}
	if session, err := unix.Getsid(one.pid); err == nil {
		one.session = session
	}
	return one
}

// environmentOf is what the process was started with: not told here.
func environmentOf(int) []string { return nil }

// bootID changes whenever the machine is started.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
