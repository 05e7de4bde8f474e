package local

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// processes lists every process that this one may see.
func processes() ([]process, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if one, err := readProcess(pid); err == nil { // else it has ended meanwhile
			all = append(all, one)
		}
	}
	return all, nil
}

func readProcess(pid int) (process, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, line)
}

// parseStat reads what follows the command's name, which may hold anything, even
// spaces and brackets: state, parent, group, session, …, start time (22nd of all).
func parseStat(pid int, line []byte) (process, error) {
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 {
		return process{}, fmt.Errorf("the stat line of process %d is short", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, fmt.Errorf("the parent of process %d: %w", pid, err)
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return process{}, fmt.Errorf("the session of process %d: %w", pid, err)
	}
	return process{
		pid: pid, parent: parent, session: session,
		zombie: fields[0] == "Z" || fields[0] == "X", begun: fields[19],
	}, nil
}

// environmentOf is what the process was started with, where it may be read.
func environmentOf(pid int) []string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	return strings.Split(string(content), "\x00")
}

// bootID changes whenever the machine is started.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
