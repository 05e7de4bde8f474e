package executor

import (
	"sync"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// hangLimit is how many inspections in a row may let their deadline pass before
// the process is taken for hung. One may be the infrastructure's slow minute.
const hangLimit = 2

// lateInspections counts the inspections that a process let time out. Inspections change
// nothing and come all the time, so they show best whether it answers at all.
type lateInspections struct {
	mutex sync.Mutex
	late  map[fleet.ProviderAddress]lateness
}

// lateness belongs to one process: its successor starts from zero.
type lateness struct {
	process Provider
	times   int
}

func newLateInspections() *lateInspections {
	return &lateInspections{late: map[fleet.ProviderAddress]lateness{}}
}

// ended notes the end of an inspection and says whether the process hangs.
func (h *lateInspections) ended(address fleet.ProviderAddress, process Provider, late bool) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	before := h.late[address]
	if before.process != process {
		before = lateness{process: process}
	}
	if !late {
		delete(h.late, address)
		return false
	}
	before.times++
	if before.times < hangLimit {
		h.late[address] = before
		return false
	}
	delete(h.late, address)
	return true
}
