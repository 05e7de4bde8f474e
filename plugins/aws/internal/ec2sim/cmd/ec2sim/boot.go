//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// lookEvery is how often the boot process checks which machines are to run: the
// account sends no notifications.
const lookEvery = 100 * time.Millisecond

// hall is where the account's machines stand.
type hall struct {
	account  *ec2sim.Simulator
	region   *ec2sim.Region
	program  string
	errs     io.Writer
	machines map[string]*machine // by instance; a machine boots once
	stopped  chan *machine       // whose processes have ended
	all      sync.WaitGroup
}

// machine is a process of this machine, in a process group of its own.
type machine struct {
	instance string
	process  *exec.Cmd // nil: it doesn't run any more
	asked    bool      // its power button was pressed
	metadata *metadata
}

func newHall(account *ec2sim.Simulator, region *ec2sim.Region, program string, errs io.Writer) *hall {
	return &hall{account: account, region: region, program: program, errs: errs, machines: map[string]*machine{},
		stopped: make(chan *machine)}
}

// run keeps the processes as the account wants them, and ends them with the context.
func (h *hall) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, one := range h.account.Machines() {
				h.settle(one)
			}
		case one := <-h.stopped:
			one.process = nil
			one.metadata.close()
			_ = h.account.ShutDown(one.instance) // the account may have ended it before
		case <-ctx.Done():
			h.powerOff()
			return
		}
	}
}

// settle does what an instance's state asks for: its machine boots, hears its power
// button, or loses its power.
func (h *hall) settle(one ec2sim.Machine) {
	known := h.machines[one.ID]
	switch {
	case known == nil && one.State == "running":
		known = &machine{instance: one.ID}
		h.machines[one.ID] = known
		if err := h.boot(known, one.UserData); err != nil {
			fmt.Fprintf(h.errs, "ec2sim: boot the instance %s: %v\n", one.ID, err)
			_ = h.account.ShutDown(one.ID)
		}
	case known == nil || known.process == nil:
	case one.State == "shutting-down" && !known.asked:
		known.asked = true
		_ = known.process.Process.Signal(syscall.SIGTERM)
	case one.State == "terminated":
		kill(known.process)
	}
}

func (h *hall) boot(one *machine, userData string) error {
	metadata, err := serveMetadata(h.account, h.region, one.instance)
	if err != nil {
		return err
	}
	c := exec.Command(h.program)
	c.Env = append(os.Environ(), "EC2SIM_INSTANCE="+one.instance, "EC2SIM_METADATA="+metadata.url)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(userData), h.errs, h.errs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.WaitDelay = time.Second // for the output of what it leaves running
	if err := c.Start(); err != nil {
		metadata.close()
		return err
	}
	one.process, one.metadata = c, metadata
	h.all.Go(func() {
		_ = c.Wait() // how it ended is its own affair
		kill(c)      // what is left in its group loses its power
		h.stopped <- one
	})
	return nil
}

// powerOff ends all machines, and waits until they have ended.
func (h *hall) powerOff() {
	for _, one := range h.machines {
		if one.process != nil {
			kill(one.process)
		}
	}
	go func() { h.all.Wait(); close(h.stopped) }()
	for one := range h.stopped {
		one.metadata.close()
	}
}

func kill(process *exec.Cmd) { _ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
