package reload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/access"
	"github.com/example/memcached-operator/operator/agent/connection"
	"github.com/example/memcached-operator/operator/agent/process"
	"github.com/example/memcached-operator/operator/agent/reload"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	operatortesting "github.com/example/memcached-operator/operator/testing"
)

// story is a memcached with TLS and users, and a loop that looks after it.
type story struct {
	run       agenttesting.Runner
	authority *agenttesting.Authority
	files     map[string]string
	volume    *agenttesting.Volume
	server    *agenttesting.Server
	dialer    *connection.Dialer
	loop      *reload.Loop
	registry  *prometheus.Registry
	log       *operatortesting.Log
	deaf      atomic.Bool // While it is true, memcached cannot be signalled.
	start     func()      // Starts the loop, which runs until the end of the test.
}

func tell(t *testing.T, run agenttesting.Runner) *story {
	t.Helper()
	s := &story{run: run, registry: prometheus.NewRegistry(), log: operatortesting.NewLog(t)}
	s.authority = agenttesting.NewAuthority(t)
	s.files = s.authority.Issue(t, time.Now().Add(time.Hour))
	s.files["users"] = "user:before\nother:same\n"
	s.volume = agenttesting.NewVolume(t, s.files)
	s.server = run.Start(t, append(s.volume.TLS(), "-Y", s.volume.File("users"))...)
	s.dialer = s.fresh(t)
	metrics, err := reload.NewMetrics(s.registry, reload.Certificates, reload.Users)
	if err != nil {
		t.Fatal(err)
	}
	s.loop = &reload.Loop{
		Certificates: s.volume.Files(), Users: s.volume.File("users"), Dialer: s.dialer, Interval: 50 * time.Millisecond,
		Metrics: metrics, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
		Hangup: s.hangup,
	}
	s.start = func() { agenttesting.Background(t, s.loop.Run) }
	return s
}

func (s *story) hangup() error {
	if s.deaf.Load() {
		return errors.New("may not signal")
	}
	return process.Finder{Name: s.server.Name, Directory: "/proc"}.Hangup()
}

// begin starts the loop and waits until it has nothing left to do.
func (s *story) begin(t *testing.T) {
	t.Helper()
	s.start()
	s.settled(t)
}

// change replaces files, the others stay.
func (s *story) change(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		s.files[name] = content
	}
	s.volume.Replace(t, s.files)
}

// fresh returns a Dialer of what is on disk, as a client has it that starts now.
func (s *story) fresh(t *testing.T) *connection.Dialer {
	t.Helper()
	certificates, err := s.volume.Files().Read()
	if err != nil {
		t.Fatal(err)
	}
	users, err := access.ReadUsers(s.volume.File("users"))
	if err != nil {
		t.Fatal(err)
	}
	return connection.New(s.server.Address, certificates, users)
}

// settled waits until memcached has taken over what is on disk, which is asked of memcached itself.
func (s *story) settled(t *testing.T) {
	t.Helper()
	certificates, err := s.volume.Files().Read()
	if err != nil {
		t.Fatal(err)
	}
	agenttesting.Await(t, "memcached has taken over what is on disk", func() error {
		fresh := s.fresh(t)
		if err := enter(t, fresh); err != nil {
			return err
		}
		if !bytes.Equal(fresh.Served().Raw, certificates.Leaf().Raw) {
			return errors.New("memcached shows another certificate")
		}
		if err := enter(t, s.dialer); err != nil {
			return fmt.Errorf("the agent's own dialer: %w", err)
		}
		return s.shows(t, `memcached_agent_reload_pending{what="certificates"} 0`, `memcached_agent_reload_pending{what="users"} 0`)
	})
}

// shows says which samples are missing in the metrics.
func (s *story) shows(t *testing.T, samples ...string) error {
	t.Helper()
	shown := agenttesting.Metrics(t, s.registry)
	for _, sample := range samples {
		if !slices.Contains(shown, sample) {
			return fmt.Errorf("no %s in\n%s", sample, strings.Join(shown, "\n"))
		}
	}
	return nil
}

// stuck waits until the loop reports a problem.
func (s *story) stuck(t *testing.T, what reload.What, says string) {
	t.Helper()
	agenttesting.Await(t, "the problem is reported", func() error {
		if s.log.Count(says) == 0 {
			return fmt.Errorf("the log lacks %q", says)
		}
		return s.shows(t, fmt.Sprintf("memcached_agent_reload_pending{what=%q} 1", what))
	})
}

func enter(t *testing.T, dialer *connection.Dialer) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	conn, err := dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Version(ctx)
	return err
}
