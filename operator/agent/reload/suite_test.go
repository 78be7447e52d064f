package reload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/reload"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// setup is a memcached with TLS and users, and a loop that reloads them.
type setup struct {
	run       agenttesting.Runner
	authority *agenttesting.Authority
	files     map[string]string
	volume    *agenttesting.Volume
	server    *agenttesting.Server
	dialer    *memcached.Dialer
	loop      *reload.Loop
	registry  *prometheus.Registry
	log       *testkit.Log
	noSignals atomic.Bool         // While it is true, memcached cannot be signalled.
	reloads   map[reload.What]int // The number of successes that awaitReloads waits for.
}

func newSetup(t testing.TB, run agenttesting.Runner) *setup {
	t.Helper()
	s := &setup{
		run: run, registry: prometheus.NewRegistry(), log: testkit.NewLog(t),
		reloads: map[reload.What]int{reload.Certificates: 1, reload.Users: 1},
	}
	s.authority = agenttesting.NewAuthority(t)
	s.files = s.authority.Issue(t, time.Now().Add(time.Hour))
	s.files["users"] = "user:before\nother:same\n"
	s.volume = agenttesting.NewVolume(t, s.files)
	s.server = run.Start(t, append(s.volume.TLS(), "-Y", s.volume.File("users"))...)
	s.dialer = s.newClient(t)
	s.loop = &reload.Loop{
		Certificates: s.volume.Files(), Users: s.volume.File("users"), Dialer: s.dialer, Interval: 50 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(s.log, nil)),
		Hangup: s.hangup, Started: func() (time.Time, error) { return time.Time{}, errors.New("unknown") },
	}
	s.loop.Register(s.registry)
	return s
}

// start starts the loop, which runs until the end of the test, or until stop.
func (s *setup) start(t *testing.T) (stop func()) {
	t.Helper()
	return agenttesting.Background(t, s.loop.Run)
}

func (s *setup) hangup() error {
	if s.noSignals.Load() {
		return errors.New("may not signal")
	}
	return s.finder().Hangup()
}

func (s *setup) finder() memcached.Process {
	return memcached.Process{Name: s.server.Name, Directory: "/proc"}
}

// startAndAwait starts the loop and waits until it has nothing left to do.
func (s *setup) startAndAwait(t *testing.T) (stop func()) {
	t.Helper()
	stop = s.start(t)
	s.awaitReloads(t)
	return stop
}

// change replaces files, the others stay.
func (s *setup) change(t *testing.T, files map[string]string) {
	t.Helper()
	changed := map[reload.What]bool{}
	for name, content := range files {
		s.files[name] = content
		if name == "users" {
			changed[reload.Users] = true
		} else {
			changed[reload.Certificates] = true
		}
	}
	for what := range changed {
		s.reloads[what] = s.succeeded(t, what) + 1
	}
	s.volume.Replace(t, s.files)
}

// succeeded returns how many reloads there were.
func (s *setup) succeeded(t *testing.T, what reload.What) int {
	t.Helper()
	for _, sample := range agenttesting.Metrics(t, s.registry) {
		count, ok := strings.CutPrefix(sample, fmt.Sprintf("memcached_agent_reloads_total{outcome=\"success\",what=%q} ", what))
		if !ok {
			continue
		}
		number, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	t.Fatalf("no reloads of %s are counted", what)
	return 0
}

// newClient returns a Dialer that uses the files on disk, as a client that starts now.
func (s *setup) newClient(t testing.TB) *memcached.Dialer {
	t.Helper()
	certificates, err := s.volume.Files().Read()
	if err != nil {
		t.Fatal(err)
	}
	users, err := api.ReadUsers(s.volume.File("users"))
	if err != nil {
		t.Fatal(err)
	}
	return memcached.NewDialer(s.server.Address, certificates, users)
}

// awaitReloads waits until the loop says that memcached has read what is on disk, and then verifies it. A client that connected
// earlier could crash memcached.
func (s *setup) awaitReloads(t *testing.T) {
	t.Helper()
	certificates, err := s.volume.Files().Read()
	if err != nil {
		t.Fatal(err)
	}
	agenttesting.Await(t, "the loop has nothing left to do", func() error {
		return s.shows(t, `memcached_agent_reload_pending{what="certificates"} 0`, `memcached_agent_reload_pending{what="users"} 0`,
			fmt.Sprintf(`memcached_agent_reloads_total{outcome="success",what="certificates"} %d`, s.reloads[reload.Certificates]),
			fmt.Sprintf(`memcached_agent_reloads_total{outcome="success",what="users"} %d`, s.reloads[reload.Users]))
	})
	client := s.newClient(t)
	if err := connect(t, client); err != nil {
		t.Errorf("a new client: %v", err)
	} else if !bytes.Equal(client.Served().Raw, certificates.Leaf().Raw) {
		t.Error("memcached shows another certificate")
	}
	if err := connect(t, s.dialer); err != nil {
		t.Errorf("the agent's own dialer: %v", err)
	}
}

// shows returns an error if one of the samples is missing in the metrics.
func (s *setup) shows(t *testing.T, samples ...string) error {
	t.Helper()
	shown := agenttesting.Metrics(t, s.registry)
	for _, sample := range samples {
		if !slices.Contains(shown, sample) {
			return fmt.Errorf("no %s in\n%s", sample, strings.Join(shown, "\n"))
		}
	}
	return nil
}

// clock is memcached's, read over a connection that was open before. memcached acts on signals when it moves.
type clock struct {
	conn *memcached.Conn
	time int64
}

func (s *setup) clock(t *testing.T) *clock {
	t.Helper()
	conn, err := s.dialer.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &clock{conn: conn}
	if c.time, err = c.read(t); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *clock) read(t *testing.T) (int64, error) {
	t.Helper()
	stats, err := c.conn.Stats(t.Context(), "")
	if err != nil {
		return 0, err
	}
	return stats.Int("time")
}

// awaitSignals waits until memcached has acted on signals that were sent to it. It may have looked for them a moment before the
// clock moves the first time.
func (c *clock) awaitSignals(t *testing.T) {
	t.Helper()
	agenttesting.Await(t, "memcached's clock moves on", func() error {
		now, err := c.read(t)
		if err == nil && now < c.time+2 {
			err = fmt.Errorf("it shows %d, and has shown %d", now, c.time)
		}
		return err
	})
}

// awaitProblem waits until the loop reports a problem.
func (s *setup) awaitProblem(t *testing.T, what reload.What, says string) {
	t.Helper()
	agenttesting.Await(t, "the problem is reported", func() error {
		if s.log.Count(says) == 0 {
			return fmt.Errorf("the log lacks %q", says)
		}
		return s.shows(t, fmt.Sprintf("memcached_agent_reload_pending{what=%q} 1", what))
	})
}

// refuses fails the test unless memcached refuses the user.
func (s *setup) refuses(t *testing.T, user api.User) {
	t.Helper()
	conn, err := s.dialer.DialAs(t.Context(), user)
	if !errors.Is(err, memcached.ErrRejected) {
		t.Errorf("the user %q: %v, want a refusal", user.Name, err)
	}
	if err == nil {
		_ = conn.Close()
	}
}

func connect(t *testing.T, dialer *memcached.Dialer) error {
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
