package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func supervisor(t *testing.T) *Supervisor {
	t.Helper()
	s := &Supervisor{Run: t.TempDir(), Logs: t.TempDir(), Mark: t.TempDir()}
	t.Cleanup(func() {
		if err := s.KillMarked(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func shell(name, script string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}}
}

const forever = "while :; do sleep 1; done"

func TestEnsureKeepsARunningProcessAndReplacesAChangedOne(t *testing.T) {
	s := supervisor(t)
	first, err := s.Ensure(shell("one", forever))
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Ensure(shell("one", forever))
	if err != nil {
		t.Fatal(err)
	}
	if again.id != first.id {
		t.Error("an unchanged process was started a second time")
	}
	changed, err := s.Ensure(shell("one", ": changed; "+forever))
	if err != nil {
		t.Fatal(err)
	}
	if changed.id == first.id || first.id.Alive() {
		t.Error("the process of the old arguments is still there")
	}
}

func TestAProcessInheritsNoFileOfTheCaller(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inherited, err := syscall.Dup(int(file.Fd())) // Without close-on-exec, as from a shell.
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	started, err := supervisor(t).Ensure(shell("one", forever))
	if err != nil {
		t.Fatal(err)
	}
	if has, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", started.id.PID, inherited)); err == nil && has == file.Name() {
		t.Errorf("the process has %s open", has)
	}
}

func TestEnsureKeepsARunningProcessWhoseProgramIsGone(t *testing.T) {
	s := supervisor(t)
	spec := shell("removed", forever)
	spec.Path = filepath.Join(t.TempDir(), "program") // A link, because a shell opens a script only after it was started.
	if err := os.Symlink("/bin/sh", spec.Path); err != nil {
		t.Fatal(err)
	}
	first, err := s.Ensure(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(spec.Path); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Ensure(spec); err != nil || again.id != first.id {
		t.Errorf("it was not kept: %v", err)
	}
	if err := s.Stop(spec.Name, time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ensure(spec); err == nil || !strings.Contains(err.Error(), "start removed") {
		t.Errorf("a program that is gone was started: %v", err)
	}
}

func TestEnsureRestartsAProcessWhenItsConfigurationChanges(t *testing.T) {
	s := supervisor(t)
	spec := shell("configured", forever)
	spec.Files = []string{filepath.Join(t.TempDir(), "config")}
	var started []Identity
	for _, content := range []string{"a", "a", "b"} {
		if err := os.WriteFile(spec.Files[0], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := s.Ensure(spec)
		if err != nil {
			t.Fatal(err)
		}
		started = append(started, p.id)
	}
	if started[0] != started[1] || started[1] == started[2] {
		t.Errorf("started %v for the contents a, a, b", started)
	}
}

func TestStopKillsAProcessThatIgnoresSIGTERM(t *testing.T) {
	s := supervisor(t)
	p, err := s.Ensure(shell("stubborn", "trap '' TERM; echo ignoring; "+forever))
	if err != nil {
		t.Fatal(err)
	}
	err = p.Await(t.Context(), time.Minute, func(context.Context) error {
		if log, _ := os.ReadFile(s.LogFile("stubborn")); string(log) == "ignoring\n" {
			return nil
		}
		return errors.New("SIGTERM is not ignored yet")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop("stubborn", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if p.id.Alive() {
		t.Error("it still runs")
	}
	if alive, err := s.Alive("stubborn"); alive || err != nil {
		t.Errorf("alive %v, error %v after Stop", alive, err)
	}
}

func TestStopSparesAnotherProcessWithAReusedID(t *testing.T) {
	s := supervisor(t)
	other := exec.Command("/bin/sh", "-c", forever)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	id, err := Identify(other.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	old := id
	old.Start--
	data, err := json.Marshal(record{Identity: old})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file("gone"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop("gone", time.Second); err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("a process that only has the same ID was killed")
	}
}

func TestKillMarkedFindsAProcessWithoutARecord(t *testing.T) {
	s := supervisor(t)
	p, err := s.Ensure(shell("lost", forever))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.file("lost")); err != nil {
		t.Fatal(err)
	}
	if err := s.KillMarked(); err != nil {
		t.Fatal(err)
	}
	if p.id.Alive() {
		t.Error("the process without a record still runs")
	}
}

func TestAwaitShowsTheLogOfAProcessThatExits(t *testing.T) {
	s := supervisor(t)
	p, err := s.Ensure(shell("brief", "echo address already in use >&2; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	err = p.Await(t.Context(), time.Minute, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), "brief has exited") {
		t.Errorf("error is %v", err)
	}
}

func TestAwaitReturnsTheLastErrorAtTheDeadline(t *testing.T) {
	s := supervisor(t)
	p, err := s.Ensure(shell("slow", forever))
	if err != nil {
		t.Fatal(err)
	}
	err = p.Await(t.Context(), 300*time.Millisecond, func(context.Context) error { return errors.New("still loading") })
	if err == nil || !strings.Contains(err.Error(), "still loading") {
		t.Errorf("error is %v", err)
	}
}

func TestAPausedProcessGoesOnAndCanBeStopped(t *testing.T) {
	s := supervisor(t)
	spec := shell("paused", "while :; do echo alive; sleep 0.01; done")
	p, err := s.Ensure(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Pause(spec.Name); err != nil {
		t.Fatal(err)
	}
	awaitPaused(t, p, true)
	if _, err := s.Ensure(spec); err != nil { // As a later run does.
		t.Fatal(err)
	}
	awaitPaused(t, p, false)
	if err := s.Pause(spec.Name); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Stop(spec.Name, time.Minute); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited > 30*time.Second {
		t.Errorf("a paused process ended only after %s", waited)
	}
	if err := s.Resume(spec.Name); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("error is %v", err)
	}
}

func awaitPaused(t *testing.T, p *Process, want bool) {
	t.Helper()
	err := p.Await(t.Context(), time.Minute, func(context.Context) error {
		proc, err := procfs.NewProc(p.id.PID)
		if err != nil {
			return err
		}
		stat, err := proc.Stat()
		if err == nil && (stat.State == "T") != want {
			err = fmt.Errorf("its state is %s", stat.State)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAKilledProcessStaysRecordedUntilItIsStopped(t *testing.T) {
	s := supervisor(t)
	spec := shell("killed", forever)
	first, err := s.Ensure(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(spec.Name); err != nil {
		t.Fatal(err)
	}
	if first.id.Alive() || !s.Recorded(spec.Name) {
		t.Errorf("it runs: %v, it is recorded: %v", first.id.Alive(), s.Recorded(spec.Name))
	}
	if again, err := s.Ensure(spec); err != nil || again.id == first.id {
		t.Errorf("it was not started again: %v", err)
	}
	if err := s.Stop(spec.Name, time.Second); err != nil || s.Recorded(spec.Name) {
		t.Errorf("it is recorded after it was stopped: %v", err)
	}
}

func TestKillMarkedWithSparesProcessesWithoutTheArgument(t *testing.T) {
	s := supervisor(t)
	one, other := shell("one", forever), shell("other", forever)
	one.Args, other.Args = append(one.Args, "/run/one.sock"), append(other.Args, "/run/one.sock.ttrpc")
	killed, err := s.Ensure(one)
	if err != nil {
		t.Fatal(err)
	}
	spared, err := s.Ensure(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KillMarkedWith("/run/one.sock"); err != nil {
		t.Fatal(err)
	}
	if killed.id.Alive() || !spared.id.Alive() {
		t.Errorf("the one runs: %v, the other runs: %v", killed.id.Alive(), spared.id.Alive())
	}
}
