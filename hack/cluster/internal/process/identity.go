package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity is one process, unmistakably.
type Identity struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks since boot.
	Start uint64 `json:"start"`
	// Boot is the kernel's id of the boot.
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

// Alive tells whether this very process still runs. A zombie does not.
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
		return "", fmt.Errorf("read the boot id: %w", err)
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

// parseStat reads /proc/<pid>/stat: fields are separated by blanks, but the second, the program's name in
// parentheses, may hold blanks and parentheses itself.
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

// Marked returns every running process that carries the marker with the given value, this one excepted.
func Marked(mark string) ([]Identity, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	want := []byte(Marker + "=" + mark)
	var found []Identity
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil { // gone, or another user's
			continue
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(variable, want) {
				if identity, err := Identify(pid); err == nil && identity.Alive() {
					found = append(found, identity)
				}
				break
			}
		}
	}
	return found, nil
}
