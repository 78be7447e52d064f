package memcached

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// Process is a process that is found by its name.
type Process struct {
	// Name is the base name of the program.
	Name string

	// Directory is the proc file system, usually /proc.
	Directory string
}

// Find returns the ID of the one process of that name. No such process, and several, are errors: a signal to the wrong
// one could end it.
func (p Process) Find() (int, error) {
	entries, err := os.ReadDir(p.Directory)
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	wanted := p.Name[:min(len(p.Name), nameLength)]
	var found []int
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil || id == os.Getpid() {
			continue
		}
		name, state, err := describe(filepath.Join(p.Directory, entry.Name(), "status"))
		if err == nil && name == wanted && !strings.HasPrefix(state, "Z") {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("no process is named %q: is it running, and does the pod have shareProcessNamespace: true?", p.Name)
	}
	return 0, fmt.Errorf("%d processes are named %q, and which one is meant cannot be told", len(found), p.Name)
}

// Hangup sends the process SIGHUP, which makes memcached read its users again, and since 1.6.40 its certificates, too.
func (p Process) Hangup() error {
	id, err := p.Find()
	if err != nil {
		return err
	}
	switch err := syscall.Kill(id, syscall.SIGHUP); {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("may not signal process %d: run memcached and the agent as the same user", id)
	case err != nil:
		return fmt.Errorf("signal process %d: %w", id, err)
	}
	return nil
}

// Started returns when the process started, at most a tick too early.
func (p Process) Started() (time.Time, error) {
	id, err := p.Find()
	if err != nil {
		return time.Time{}, err
	}
	files, err := procfs.NewFS(p.Directory)
	if err != nil {
		return time.Time{}, err
	}
	process, err := files.Proc(id)
	if err != nil {
		return time.Time{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return time.Time{}, fmt.Errorf("look at process %d: %w", id, err)
	}
	// The library knows when the machine booted in whole seconds only.
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot); err != nil {
		return time.Time{}, fmt.Errorf("ask how long this machine has run: %w", err)
	}
	return time.Now().Add(time.Duration(stat.Starttime)*tick - time.Duration(sinceBoot.Nano())), nil
}

// describe returns a process's name and state. A process that ended meanwhile is an error.
func describe(path string) (name, state string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() && state == "" {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "Name":
			name = strings.TrimSpace(value)
		case "State":
			state = strings.TrimSpace(value)
		}
	}
	return name, state, lines.Err()
}
