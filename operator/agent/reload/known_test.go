package reload_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/reload"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// Each reload is a risk for memcached's items, and agents are replaced whenever the operator is upgraded.
func TestARestartedAgentReloadsNothing(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.volume.Age(t, time.Hour)
		s.loop.Started = s.finder().Started
		s.reloads = map[reload.What]int{}
		s.noSignals.Store(true)
		s.startAndAwait(t)
		if n := s.log.Count("has read what is on disk already"); n != 2 {
			t.Errorf("%d lines about what memcached has read by itself, want one for the certificates and one for the users", n)
		}
		// From now on it reloads changes.
		s.noSignals.Store(false)
		all := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))
		all["users"] = "new:one\n"
		s.change(t, all)
		s.awaitReloads(t)
	})
}

// The agent did not run, so memcached was not told.
func TestWhatChangedBeforeTheAgentStartedIsReloaded(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		files := s.authority.Issue(t, time.Now().Add(2*time.Hour))
		files["users"] = "other:same\n"
		s.change(t, files)
		s.loop.Started = s.finder().Started
		s.startAndAwait(t)
		s.refuses(t, api.User{Name: "user", Password: "before"})
	})
}

// The age of files alone proves nothing: they may come from a backup, or from another Secret.
func TestOldFilesThatMemcachedHasNotReadAreReloaded(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		files := s.authority.Issue(t, time.Now().Add(2*time.Hour))
		files["users"] = "other:same\nnew:one\n"
		s.change(t, files)
		s.volume.Age(t, time.Hour)
		s.loop.Started = s.finder().Started
		s.startAndAwait(t)
	})
}

// A TLS handshake while memcached reads its certificates could crash it.
func TestTheAgentIsInNoHandshakeWhileMemcachedReadsItsCertificates(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		waited := make(chan error, 1)
		s.loop.Hangup = func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := s.dialer.Dial(ctx)
			waited <- err
			return s.hangup()
		}
		s.startAndAwait(t)
		if err := <-waited; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a connection did not wait for the end of the reload: %v", err)
		}
	})
}
