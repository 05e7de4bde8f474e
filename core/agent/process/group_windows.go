package process

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a job object. It ends its processes when its last handle closes, so
// that none outlives the agent. A process that the job's first one starts before
// it is in the object is not seen.
type Group struct {
	job windows.Handle
}

// AdoptOrphans does nothing: a job object keeps its processes.
func AdoptOrphans() error { return nil }

// InNewGroup keeps the agent's console events from the command.
func InNewGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// KillGroup ends the command. What it started is out of reach here.
func KillGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// NewGroup makes the job object of a command that was started as the first process of
// a job.
func NewGroup(cmd *exec.Cmd, _ Job) (*Group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(
		job,
		windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)),
		uint32(unsafe.Sizeof(limits)),
	)
	if err == nil {
		err = assign(job, uint32(cmd.Process.Pid))
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("put process %d into a job object: %w", cmd.Process.Pid, err)
	}
	return &Group{job: job}, nil
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

// Members has one entry, without a pid, for each process in the object.
func (g *Group) Members() ([]int, error) {
	var a accounting
	if err := windows.QueryInformationJobObject(
		g.job,
		windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)),
		uint32(unsafe.Sizeof(a)),
		nil,
	); err != nil {
		return nil, fmt.Errorf("count the processes of a job: %w", err)
	}
	return make([]int, a.active), nil
}

// Signal ends every process of the job when force. There is no polite way that
// all programs understand.
func (g *Group) Signal(force bool) error {
	if !force {
		return nil
	}
	if err := windows.TerminateJobObject(g.job, 1); err != nil {
		return fmt.Errorf("end the processes of a job: %w", err)
	}
	return nil
}

// Close closes the job object, and so ends what is left in it.
func (g *Group) Close() { _ = windows.CloseHandle(g.job) }

// EndJobProcesses has nothing to do: the job object ended with the agent.
func EndJobProcesses(JobProcesses, HoldUser) (bool, error) { return true, nil }

// Identify knows nothing here: EndJobProcesses needs nothing to compare.
func Identify(int) (started, boot string) { return "", "" }
