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

// story is a memcached with TLS and users, and a loop that looks after it.
type story struct {
	run       agenttesting.Runner
	authority *agenttesting.Authority
	files     map[string]string
	volume    *agenttesting.Volume
	server    *agenttesting.Server
	dialer    *memcached.Dialer
	loop      *reload.Loop
	registry  *prometheus.Registry
	log       *testkit.Log
	deaf      atomic.Bool         // While it is true, memcached cannot be signalled.
	reloads   map[reload.What]int // That have to have succeeded before all is settled.
}

func tell(t testing.TB, run agenttesting.Runner) *story {
	t.Helper()
	s := &story{
		run: run, registry: prometheus.NewRegistry(), log: testkit.NewLog(t),
		reloads: map[reload.What]int{reload.Certificates: 1, reload.Users: 1},
	}
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
		Hangup: s.hangup, Started: func() (time.Time, error) { return time.Time{}, errors.New("nobody knows") },
	}
	return s
}

// start starts the loop, which runs until the end of the test, or until stop.
func (s *story) start(t *testing.T) (stop func()) {
	t.Helper()
	return agenttesting.Background(t, s.loop.Run)
}

func (s *story) hangup() error {
	if s.deaf.Load() {
		return errors.New("may not signal")
	}
	return s.finder().Hangup()
}

func (s *story) finder() memcached.Process {
	return memcached.Process{Name: s.server.Name, Directory: "/proc"}
}

// begin starts the loop and waits until it has nothing left to do.
func (s *story) begin(t *testing.T) (stop func()) {
	t.Helper()
	stop = s.start(t)
	s.settled(t)
	return stop
}

// change replaces files, the others stay.
func (s *story) change(t *testing.T, files map[string]string) {
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
func (s *story) succeeded(t *testing.T, what reload.What) int {
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

// fresh returns a Dialer of what is on disk, as a client has it that starts now.
func (s *story) fresh(t testing.TB) *memcached.Dialer {
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

// settled waits until the loop says that memcached has taken over what is on disk, and then sees whether memcached has. A
// client that connected before could end memcached.
func (s *story) settled(t *testing.T) {
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
	fresh := s.fresh(t)
	if err := enter(t, fresh); err != nil {
		t.Errorf("a new client: %v", err)
	} else if !bytes.Equal(fresh.Served().Raw, certificates.Leaf().Raw) {
		t.Error("memcached shows another certificate")
	}
	if err := enter(t, s.dialer); err != nil {
		t.Errorf("the agent's own dialer: %v", err)
	}
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

// clock is memcached's, looked at over a connection that was open before. Memcached acts on signals when it moves.
type clock struct {
	conn *memcached.Conn
	time int64
}

func (s *story) clock(t *testing.T) *clock {
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

// moves waits until memcached has acted on signals that it was sent. When the clock moves the first time, it may have looked
// for them a moment before.
func (c *clock) moves(t *testing.T) {
	t.Helper()
	agenttesting.Await(t, "memcached's clock moves on", func() error {
		now, err := c.read(t)
		if err == nil && now < c.time+2 {
			err = fmt.Errorf("it shows %d, and has shown %d", now, c.time)
		}
		return err
	})
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

// refuses fails the test unless memcached refuses a user.
func (s *story) refuses(t *testing.T, user api.User) {
	t.Helper()
	conn, err := s.dialer.DialAs(t.Context(), user)
	if !errors.Is(err, memcached.ErrRejected) {
		t.Errorf("the user %q: %v, want a refusal", user.Name, err)
	}
	if err == nil {
		_ = conn.Close()
	}
}

func enter(t *testing.T, dialer *memcached.Dialer) error {
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
