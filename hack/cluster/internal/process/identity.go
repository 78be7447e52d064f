package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Identity identifies one process for ever, even after the kernel has reused its ID.
type Identity struct {
	PID int `json:"pid"`
	// Start is its start time in clock ticks since boot.
	Start uint64 `json:"start"`
	// Boot is the kernel's boot ID.
	Boot string `json:"boot"`
}

// Identify reads the identity of a running process.
func Identify(pid int) (Identity, error) {
	_, start, err := stat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := bootID()
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: boot}, nil
}

// Alive reports whether this process still runs. A zombie does not.
func (i Identity) Alive() bool {
	boot, err := bootID()
	if err != nil || boot != i.Boot {
		return false
	}
	state, start, err := stat(i.PID)
	return err == nil && start == i.Start && state != 'Z' && state != 'X'
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot ID: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// stat returns the state and the start time of a process.
func stat(pid int) (state byte, start uint64, err error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	return parseStat(line)
}

// parseStat reads /proc/<pid>/stat. Blanks separate its fields, but the second one, the program's name in parentheses,
// may hold blanks and parentheses.
func parseStat(line []byte) (state byte, start uint64, err error) {
	const startField = 22 - 3 // proc(5): field 22 is starttime; field 3 is the first after the name
	end := bytes.LastIndexByte(line, ')')
	fields := bytes.Fields(line[end+1:])
	if end < 0 || len(fields) <= startField {
		return 0, 0, fmt.Errorf("unexpected process stat line %q", line)
	}
	start, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("unexpected process start time: %w", err)
	}
	return fields[0][0], start, nil
}

// Marked returns every running process that carries the marker of this cluster, except this one.
func (s *Supervisor) Marked() ([]Identity, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	want := Marker + "=" + s.Mark
	var found []Identity
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), want) { // gone, another user's, or unmarked
			continue
		}
		if identity, err := Identify(pid); err == nil && identity.Alive() {
			found = append(found, identity)
		}
	}
	return found, nil
}
