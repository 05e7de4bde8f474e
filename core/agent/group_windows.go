package agent

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object. It ends its processes when its last handle closes, so
// that none outlives the agent. A process that the job's first one starts before
// it is in the object is not seen.
type group struct {
	job windows.Handle
}

func adoptOrphans() error { return nil }

// inNewGroup keeps the agent's console events from the command.
func inNewGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// killWithGroup ends the command. What it started is out of reach here.
func killWithGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func newGroup(_ Config, cmd *exec.Cmd, _ string, _ *jobUser) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, uint32(cmd.Process.Pid))
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("put process %d into a job object: %w", cmd.Process.Pid, err)
	}
	return &group{job: job}, nil
}

func assign(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times           [4]int64
	pageFaults      uint32
	total           uint32
	active          uint32
	totalTerminated uint32
}

// members has one entry, without a pid, for each process in the object.
func (g *group) members() ([]int, error) {
	var a accounting
	if err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil); err != nil {
		return nil, fmt.Errorf("count the processes of a job: %w", err)
	}
	return make([]int, a.active), nil
}

// signal ends every process of the job when hard. There is no polite way that
// all programs understand.
func (g *group) signal(hard bool) error {
	if !hard {
		return nil
	}
	if err := windows.TerminateJobObject(g.job, 1); err != nil {
		return fmt.Errorf("end the processes of a job: %w", err)
	}
	return nil
}

func (g *group) close() { _ = windows.CloseHandle(g.job) }

// endLeftover has nothing to do: the job object ended with the agent.
func endLeftover(jobRecord) (bool, error) { return true, nil }

func identify(int) (started, boot string) { return "", "" }
