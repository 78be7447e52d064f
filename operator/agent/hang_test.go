package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

func TestAMemcachedThatHangsIsKilled(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t)
		log := testkit.NewLog(t)
		url, _ := startTo(t, log, "--memcached", server.Address, "--process", server.Name, "--hang-patience=2s")
		answers(t, url+"/readyz", http.StatusOK, "ok")
		answers(t, url+"/metrics", http.StatusOK, "memcached_agent_hang_kills_total 0\n")
		if err := syscall.Kill(server.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		conn, err := net.DialTimeout("tcp", server.Address, time.Second)
		if err != nil {
			t.Fatalf("a probe would notice: %v", err)
		}
		_ = conn.Close()
		answers(t, url+"/livez", http.StatusServiceUnavailable, "does not answer")
		process := memcached.Process{Name: server.Name, Directory: "/proc"}
		agenttesting.Await(t, "memcached is killed", func() error {
			if found, err := process.Find(); err == nil {
				return fmt.Errorf("process %d runs", found.PID)
			}
			return nil
		})
		server.Stop(syscall.SIGKILL) // It has ended already: this waits for it as the kubelet does.
		server.Restart(t)
		answers(t, url+"/readyz", http.StatusOK, "ok")
		answers(t, url+"/metrics", http.StatusOK, "memcached_agent_hang_kills_total 1\n")
		if n := log.Count("did not answer and was killed"); n != 1 {
			t.Errorf("the log says %d times that it was killed:\n%s", n, log)
		}
	})
}

// watch returns a watchdog of a memcached, which has no patience.
func watch(t *testing.T, server *agenttesting.Server) *watchdog {
	t.Helper()
	w := newWatchdog(options{hangPatience: 500 * time.Millisecond}, memcached.NewDialer(server.Address, &api.Certificates{}, &api.Users{}),
		memcached.Process{Name: server.Name, Directory: "/proc"}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	t.Cleanup(w.drop)
	return w
}

func TestAMemcachedThatIsSilentForAMomentIsNotKilled(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t)
		w := watch(t, server)
		for range 4 {
			w.check(t.Context())
			for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := syscall.Kill(server.PID(), signal); err != nil {
					t.Fatal(err)
				}
				for range leastAsks - 2 {
					w.check(t.Context())
				}
			}
		}
		if w.silent != "" {
			t.Error("memcached is still said to be silent")
		}
		if _, err := w.process.Find(); err != nil {
			t.Errorf("memcached was killed: %v", err)
		}
	})
}

// New connections wait then, but those who are connected are served.
func TestAMemcachedWhoseConnectionsAreTakenIsNotKilled(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t, "-c", "40", "-o", "no_maxconns_fast")
		w := watch(t, server)
		w.check(t.Context())
		agenttesting.Await(t, "all connections are taken", func() error {
			takeConnections(t, server.Address)
			short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			switch err := w.dialer.Alive(short); {
			case err == nil:
				return errors.New("a new connection is served") // Memcached has only now noticed that another one was closed.
			case !timeout(err):
				return err
			}
			return nil
		})
		for range 3 * leastAsks {
			w.check(t.Context())
		}
		if _, err := w.process.Find(); err != nil {
			t.Errorf("memcached was killed: %v", err)
		}
	})
}

// takeConnections connects to memcached until the kernel's queue is full, too.
func takeConnections(t *testing.T, address string) {
	t.Helper()
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}
