package process

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
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
	id, _, err := read(pid)
	return id, err
}

// Alive reports whether this process still runs. A zombie does not.
func (i Identity) Alive() bool {
	now, ended, err := read(i.PID)
	return err == nil && now == i && !ended
}

// read returns the identity of a process, and whether it is a zombie.
func read(pid int) (id Identity, ended bool, err error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return Identity{}, false, fmt.Errorf("read process %d: %w", pid, err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return Identity{}, false, fmt.Errorf("read process %d: %w", pid, err)
	}
	boot, err := BootID()
	if err != nil {
		return Identity{}, false, err
	}
	return Identity{PID: pid, Start: stat.Starttime, Boot: boot}, stat.State == "Z" || stat.State == "X", nil
}

// BootID returns the kernel's boot ID, which is another one after each start of the machine.
func BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot ID: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// Marked returns every running process that carries the marker of this cluster, except this one.
func (s *Supervisor) Marked() ([]Identity, error) {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for _, p := range processes {
		environ, err := p.Environ()
		if err != nil || p.PID == os.Getpid() || !slices.Contains(environ, Marker+"="+s.Mark) { // gone, another user's, or unmarked
			continue
		}
		if identity, err := Identify(p.PID); err == nil && identity.Alive() {
			found = append(found, identity)
		}
	}
	return found, nil
}
