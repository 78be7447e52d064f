package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/memcached-operator/operator/agent/api"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// sets returns commands that store items.
func sets(items int) string {
	var commands strings.Builder
	for i := range items {
		fmt.Fprintf(&commands, "set key-%d 0 0 5 noreply\r\nvalue\r\n", i)
	}
	return commands.String()
}

// Clients are faster than the agent: what they did before its first look says nothing about the start.
func TestClientsDoNotChangeHowMemcachedStarted(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		t.Run("a warm start with refused adds", func(t *testing.T) {
			server := run.Start(t, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
			exchange(t, server.Address, sets(1000))
			server.Stop(syscall.SIGUSR1)
			server.RestartWarm(t)
			exchange(t, server.Address, strings.Repeat("add key-1 0 0 5 noreply\r\nvalue\r\n", 2500))
			url, _ := start(t, "--memcached", server.Address, "--process", server.Name)
			s := awaitState(t, url, "the items", func(s api.State) bool { return s.Items >= 1000 })
			if !s.Warm || s.Restored < 1000 {
				t.Errorf("the state is %+v", s)
			}
		})
		t.Run("a cold start with items that mg created", func(t *testing.T) {
			server := run.Start(t, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
			var commands strings.Builder
			for i := range 5 {
				fmt.Fprintf(&commands, "mg key-%d v N30\r\n", i)
			}
			exchange(t, server.Address, commands.String())
			url, _ := start(t, "--memcached", server.Address, "--process", server.Name)
			s := awaitState(t, url, "the items", func(s api.State) bool { return s.Items >= 5 })
			if s.Warm || s.Restored != 0 {
				t.Errorf("the state is %+v", s)
			}
		})
		// Here memcached reads most of what it saved before it refuses it.
		t.Run("a cold start in another size", func(t *testing.T) {
			memory := filepath.Join(t.TempDir(), "memory")
			before := run.Start(t, "-m", "64", "-e", memory)
			exchange(t, before.Address, sets(1000))
			before.Stop(syscall.SIGUSR1)
			server := run.Start(t, "-m", "65", "-e", memory)
			url, _ := start(t, "--memcached", server.Address, "--process", server.Name)
			s := awaitState(t, url, "its process", func(s api.State) bool { return s.Process == int64(server.PID()) })
			if s.Warm || s.Restored != 0 {
				t.Errorf("the state is %+v", s)
			}
		})
	})
}
