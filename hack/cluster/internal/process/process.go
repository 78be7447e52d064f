// Package process starts the cluster's long-running programs, remembers them across runs of this
// program, and stops exactly those. A process is known by its id together with its start time
// and the boot it belongs to, so that a recycled id is never mistaken for ours.
package process

import (
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
	"syscall"
)

// Marker is the environment variable that every process started here carries (and, by inheritance, its children,
// such as containerd's shims). Its value is the cluster's folder.
const Marker = "MEMCACHED_OPERATOR_CLUSTER"

// Spec says how to run one program.
type Spec struct {
	// Name identifies the process: its record and its log file are called after it.
	Name string
	Path string
	Args []string
	// Env is the environment, as KEY=VALUE, besides PATH. Nothing else is inherited: a proxy setting, for one,
	// would send what the components say to each other elsewhere.
	Env []string
	// Files are the program's configuration files: when their content changes it is started anew.
	Files []string
}

// Supervisor starts, finds and stops processes. Its folders must exist.
type Supervisor struct {
	// Run holds one record per process.
	Run string
	// Logs holds one log file per process.
	Logs string
	// Mark is the value of Marker.
	Mark string
}

// record is what is remembered of a process.
type record struct {
	Identity
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"`
	// Config is a hash of the configuration files.
	Config string `json:"config,omitempty"`
}

// matches tells whether a process was started in the same way.
func (r record) matches(other record) bool {
	return r.Path == other.Path && r.Config == other.Config && slices.Equal(r.Args, other.Args) && slices.Equal(r.Env, other.Env)
}

// Ensure returns the process of that name if it runs already with the same path, arguments, environment and configuration;
// otherwise it stops what runs under the name and starts it anew.
func (s *Supervisor) Ensure(spec Spec) (*Process, error) {
	have, err := s.read(spec.Name)
	if err != nil {
		return nil, err
	}
	want := record{Path: spec.Path, Args: spec.Args, Env: spec.Env}
	if want.Config, err = hashFiles(spec.Files); err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", spec.Name, err)
	}
	if have != nil && have.Alive() {
		if have.matches(want) {
			return adopt(spec.Name, s.LogFile(spec.Name), have.Identity), nil
		}
		if err := s.Stop(spec.Name, defaultGrace); err != nil {
			return nil, err
		}
	}
	return s.start(spec, want)
}

// start runs the program in a session of its own, with its output in its log file.
func (s *Supervisor) start(spec Spec, remember record) (*Process, error) {
	logFile := s.LogFile(spec.Name)
	if err := os.Rename(logFile, logFile+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keep the last log of %s: %w", spec.Name, err)
	}
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer output.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Run, Marker + "=" + s.Mark}, spec.Env...)
	cmd.Dir = s.Run
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	remember.Identity, err = Identify(cmd.Process.Pid)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("identify %s just started: %w", spec.Name, err), cmd.Process.Kill(), cmd.Wait())
	}
	if err := s.write(spec.Name, remember); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return watch(spec.Name, logFile, remember.Identity, cmd), nil
}

// LogFile is the file that the output of the process called name goes to.
func (s *Supervisor) LogFile(name string) string { return filepath.Join(s.Logs, name+".log") }

// Alive tells whether the process recorded under name runs.
func (s *Supervisor) Alive(name string) (bool, error) {
	have, err := s.read(name)
	if err != nil || have == nil {
		return false, err
	}
	return have.Alive(), nil
}

func (s *Supervisor) file(name string) string { return filepath.Join(s.Run, name+".json") }

// read returns the record of name, or nil when there is none. A record cut short by a crash counts as none:
// its process still carries the marker.
func (s *Supervisor) read(name string) (*record, error) {
	data, err := os.ReadFile(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of %s: %w", name, err)
	}
	var r record
	if json.Unmarshal(data, &r) != nil {
		return nil, nil
	}
	return &r, nil
}

func (s *Supervisor) write(name string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of %s: %w", name, err)
	}
	if err := os.WriteFile(s.file(name), data, 0o644); err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
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
