package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Process is a process of this host as /proc showed it at one moment.
type Process struct {
	PID           int
	parent, group int
	Zombie        bool
	started       string // ticks since boot: with the pid, unique
}

// List lists all processes that this one may see.
func List() ([]Process, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []Process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, err := readProcess(pid); err == nil { // else it ended meanwhile
				all = append(all, p)
			}
		}
	}
	return all, nil
}

func readProcess(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	return parseStat(pid, stat)
}

// parseStat reads the fields after the command's name, which may hold anything,
// even brackets and spaces.
func parseStat(pid int, stat []byte) (Process, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 {
		return Process{}, fmt.Errorf("read process %d: its stat line is short", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return Process{}, fmt.Errorf("read the parent of process %d: %w", pid, err)
	}
	group, err := strconv.Atoi(fields[2])
	if err != nil {
		return Process{}, fmt.Errorf("read the group of process %d: %w", pid, err)
	}
	return Process{
		PID:     pid,
		parent:  parent,
		group:   group,
		Zombie:  fields[0] == "Z" || fields[0] == "X",
		started: fields[19],
	}, nil
}

// withDescendants is the roots and everything below them.
func withDescendants(all, roots []Process) []Process {
	below := map[int][]Process{}
	for _, p := range all {
		below[p.parent] = append(below[p.parent], p)
	}
	seen := map[int]bool{}
	var found []Process
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if seen[p.PID] {
			continue
		}
		seen[p.PID] = true
		found = append(found, p)
		queue = append(queue, below[p.PID]...)
	}
	return found
}

// HasUID says that the process runs as the user in any way: really, effectively,
// or with the way back to it.
func (p Process) HasUID(uid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/status")
	if err != nil {
		return false // it ended meanwhile
	}
	for line := range bytes.Lines(status) {
		if ids, ok := bytes.CutPrefix(line, []byte("Uid:")); ok {
			return slices.Contains(strings.Fields(string(ids)), strconv.Itoa(uid))
		}
	}
	return false
}

// mark is the job's mark in the environment that the process was started with.
func (p Process) mark() (string, bool) {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(MarkVariable+"=")); ok {
			return string(value), true
		}
	}
	return "", false
}
