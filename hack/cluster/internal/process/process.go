// Package process runs programs on this machine: short ones to their end, and the components of the cluster in the
// background. Background processes are recorded, so that a later run finds them and stops no other. A process is
// identified by its ID, its start time and the boot ID, because the kernel reuses process IDs.
package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// Marker is the environment variable that every process started here carries. Children inherit it, for example
// containerd's shims. Its value is the cluster's folder.
const Marker = "MEMCACHED_OPERATOR_CLUSTER"

// Spec describes a background process.
type Spec struct {
	// Name is the name of its record and of its log file.
	Name string
	// Path is the program's path, or its name in PATH.
	Path string
	Args []string
	// Env is the environment, as KEY=VALUE, besides PATH. Nothing else is inherited: a proxy setting, for example,
	// would redirect the traffic between the components.
	Env []string
	// Files are its configuration files. The process is restarted when their content has changed.
	Files []string
	// Ready returns nil when the process is ready for requests.
	Ready func(context.Context) error
}

// Supervisor starts, finds and stops background processes. Its folders must exist.
type Supervisor struct {
	// Run holds one record per process.
	Run string
	// Logs holds one log file per process.
	Logs string
	// Mark is the value of Marker.
	Mark string
}

// record is the file that identifies a process in later runs of this program.
type record struct {
	Identity
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"`
	// Config is a hash of the configuration files.
	Config string `json:"config,omitempty"`
}

// matches reports whether a process was started in the same way.
func (r record) matches(other record) bool {
	return r.Path == other.Path && r.Config == other.Config && slices.Equal(r.Args, other.Args) && slices.Equal(r.Env, other.Env)
}

// Ensure returns the running process of that name if its path, arguments, environment and configuration are as described.
// Otherwise it stops the process and starts it again. One that is paused goes on.
func (s *Supervisor) Ensure(spec Spec) (*Process, error) {
	have, err := s.read(spec.Name)
	if err != nil {
		return nil, err
	}
	want := record{Path: spec.Path, Args: spec.Args, Env: spec.Env}
	if want.Config, err = hashFiles(spec.Files); err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", spec.Name, err)
	}
	if have.Alive() {
		if have.matches(want) {
			if err := s.Resume(spec.Name); err != nil {
				return nil, err
			}
			return follow(spec.Name, s.LogFile(spec.Name), have.Identity, have.waitGone), nil
		}
		if err := s.Stop(spec.Name, DefaultGrace); err != nil {
			return nil, err
		}
	}
	return s.start(spec, want)
}

// environ returns the environment of a program: what it needs of the caller's, the mark and what its description adds. GOGC lets the
// caller trade memory for CPU time: with GOGC=400, an API server takes a sixth less CPU time.
func (s *Supervisor) environ(spec Spec) []string {
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Run, Marker + "=" + s.Mark}
	if gogc, set := os.LookupEnv("GOGC"); set {
		environ = append(environ, "GOGC="+gogc)
	}
	return append(environ, spec.Env...)
}

// start runs the program in its own session and writes its output to its log file.
func (s *Supervisor) start(spec Spec, want record) (*Process, error) {
	logFile := s.LogFile(spec.Name)
	if err := os.Rename(logFile, logFile+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keep the last log of %s: %w", spec.Name, err)
	}
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer output.Close()
	if err := inheritNothing(); err != nil {
		return nil, err
	}

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = s.environ(spec)
	cmd.Dir = s.Run
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	want.Identity, err = Identify(cmd.Process.Pid)
	if err == nil {
		err = s.write(spec.Name, want)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record the process of %s: %w", spec.Name, err), cmd.Process.Kill(), cmd.Wait())
	}
	// The exit status says less than the log, which is shown instead.
	return follow(spec.Name, logFile, want.Identity, func() { _ = cmd.Wait() }), nil
}

// inheritNothing keeps files that this program got from its caller from programs that it starts. The program flock, for example, holds
// its lock as long as any of them has its file open.
func inheritNothing() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list the open files: %w", err)
	}
	for _, file := range open {
		if number, err := strconv.Atoi(file.Name()); err == nil && number > syscall.Stderr {
			syscall.CloseOnExec(number)
		}
	}
	return nil
}

// LogFile is the file with the output of the named process.
func (s *Supervisor) LogFile(name string) string { return filepath.Join(s.Logs, name+".log") }

// Alive reports whether the recorded process of that name runs.
func (s *Supervisor) Alive(name string) (bool, error) {
	have, err := s.read(name)
	return err == nil && have.Alive(), err
}

// Recorded reports whether a process of that name was started and not stopped since. It may have ended.
func (s *Supervisor) Recorded(name string) bool {
	_, err := os.Stat(s.file(name))
	return err == nil
}

func (s *Supervisor) file(name string) string { return filepath.Join(s.Run, name+".json") }

// read returns the record of a process. Without one it returns an empty record, which is never alive. The same holds
// for a record that a crash cut short: its process still carries the marker.
func (s *Supervisor) read(name string) (record, error) {
	data, err := os.ReadFile(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the record of %s: %w", name, err)
	}
	var have record
	if json.Unmarshal(data, &have) != nil {
		return record{}, nil
	}
	return have, nil
}

func (s *Supervisor) write(name string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(s.file(name), data, 0o644)
}

// hashFiles hashes the contents of files, one after the other.
func hashFiles(files []string) (string, error) {
	hash := sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		hash.Write(sum[:])
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
