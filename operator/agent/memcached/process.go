package memcached

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
func (p Process) Hangup() error { return p.signal(syscall.SIGHUP) }

// Kill ends the process at once. A memcached with a memory file (-e) does not save what it has to know of its items.
func (p Process) Kill() error { return p.signal(syscall.SIGKILL) }

func (p Process) signal(signal syscall.Signal) error {
	found, err := p.Find()
	if err != nil {
		return err
	}
	switch err := syscall.Kill(found.PID, signal); {
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
	age, err := ageOf(found)
	return time.Now().Add(-age), err
}

// Run is one run of memcached, from its start to its end.
type Run struct {
	// ID is different for every run, also after the node has rebooted and uses process IDs again.
	ID string

	// Age is how long ago it was started, at most a tick too long.
	Age time.Duration
}

// Current returns the run of the one process of that name.
func (p Process) Current() (Run, error) {
	found, err := p.Find()
	if err != nil {
		return Run{}, err
	}
	return p.Run(int64(found.PID))
}

// Run returns the run of memcached that calls itself by a process ID (the pid of its statistics).
func (p Process) Run(pid int64) (Run, error) {
	files, err := procfs.NewFS(p.Directory)
	if err != nil {
		return Run{}, fmt.Errorf("find process %d: %w", pid, err)
	}
	var stat procfs.ProcStat
	process, err := files.Proc(int(pid))
	if err == nil {
		stat, err = process.Stat()
	}
	if err != nil || stat.PID == os.Getpid() {
		return Run{}, fmt.Errorf("memcached calls itself process %d, which is not seen here: does the pod have shareProcessNamespace: true?", pid)
	}
	boot, err := os.ReadFile(filepath.Join(p.Directory, "sys/kernel/random/boot_id"))
	if err != nil {
		return Run{}, fmt.Errorf("ask for this boot of the node: %w", err)
	}
	age, err := ageOf(stat)
	return Run{ID: fmt.Sprintf("%s/%d/%d", strings.TrimSpace(string(boot)), stat.Starttime, pid), Age: age}, err
}

// ageOf returns how long ago a process started, at most a tick too long.
func ageOf(stat procfs.ProcStat) (time.Duration, error) {
	// The library knows only in whole seconds when the machine booted.
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot); err != nil {
		return 0, fmt.Errorf("ask how long this machine has run: %w", err)
	}
	return time.Duration(sinceBoot.Nano()) - time.Duration(stat.Starttime)*tick, nil
}
