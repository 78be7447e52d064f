package memcached

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// tick is the unit of times below /proc: USER_HZ is 100 on all that Linux runs on today, see proc(5).
const tick = 10 * time.Millisecond

// nameLength is how many bytes of a process's name Linux keeps.
const nameLength = 15

// Process is memcached's process, which runs in another container of the same pod. The pod has to share its process namespace
// (shareProcessNamespace: true), and both containers have to run as the same user.
type Process struct {
	// Name is the base name of the program.
	Name string

	// Directory is the proc file system, usually /proc.
	Directory string
}

// Find returns the one process of that name. No such process, and several, are errors: a signal could end the wrong one.
func (p Process) Find() (procfs.ProcStat, error) {
	var all procfs.Procs
	files, err := procfs.NewFS(p.Directory)
	if err == nil {
		all, err = files.AllProcs()
	}
	if err != nil {
		return procfs.ProcStat{}, fmt.Errorf("list processes: %w", err)
	}
	name := p.Name[:min(len(p.Name), nameLength)]
	var found []procfs.ProcStat
	for _, process := range all {
		stat, err := process.Stat() // A process that has ended meanwhile is an error.
		if err == nil && stat.Comm == name && stat.State != "Z" && stat.PID != os.Getpid() {
			found = append(found, stat)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return procfs.ProcStat{}, fmt.Errorf("no process is named %q: is it running, and does the pod have shareProcessNamespace: true?", p.Name)
	}
	return procfs.ProcStat{}, fmt.Errorf("%d processes are named %q, expected exactly one", len(found), p.Name)
}

// Hangup sends the process SIGHUP, on which memcached reads its users again, and since 1.6.40 its certificates, too.
func (p Process) Hangup() error {
	found, err := p.Find()
	if err != nil {
		return err
	}
	switch err := syscall.Kill(found.PID, syscall.SIGHUP); {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("may not signal process %d: run memcached and the agent as the same user", found.PID)
	case err != nil:
		return fmt.Errorf("signal process %d: %w", found.PID, err)
	}
	return nil
}

// Started returns when the process started, at most a tick too early.
func (p Process) Started() (time.Time, error) {
	found, err := p.Find()
	if err != nil {
		return time.Time{}, err
	}
	// The library knows only in whole seconds when the machine booted.
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot); err != nil {
		return time.Time{}, fmt.Errorf("ask how long this machine has run: %w", err)
	}
	return time.Now().Add(time.Duration(found.Starttime)*tick - time.Duration(sinceBoot.Nano())), nil
}
