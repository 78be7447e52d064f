package agent

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// awaitState waits until the state passes check, and returns it.
func awaitState(t *testing.T, url, what string, check func(api.State) bool) api.State {
	t.Helper()
	var s api.State
	agenttesting.Await(t, "the agent reports "+what, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		got, err := api.Fetch(ctx, strings.TrimPrefix(url, "http://"))
		if err != nil {
			return err
		}
		if s = *got; !check(s) {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	return s
}

// exchange sends commands to a memcached without TLS and users, and waits until it has done them.
func exchange(t *testing.T, address, commands string) {
	t.Helper()
	conn, err := memcached.NewDialer(address, &api.Certificates{}, &api.Users{}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, commands); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(conn, "shutdown-is-no-command\r\n"); err != nil {
		t.Fatal(err)
	}
	for answer := make([]byte, 1<<16); ; {
		n, err := conn.Read(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(answer[:n]), "ERROR\r\n") {
			return
		}
	}
}

func TestTheStateDescribesMemcached(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		file := filepath.Join(t.TempDir(), "cache-memory")
		begin := time.Now()
		server := run.Start(t, "-m", "64", "-e", filepath.Join(t.TempDir(), "memory"))
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name, "--cache-memory-file", file)
		s := awaitState(t, url, "a new memcached", func(s api.State) bool { return s.Version == run.Version })
		before := s.Run
		if s.Process != int64(server.PID()) || before == "" || s.CacheMemory != 64 || s.HashBytes != 1<<19 || s.Warm || s.Certificate != nil || s.Problem != "" || s.HitRatio != nil {
			t.Errorf("the state of a new memcached is %+v", s)
		}
		if now := time.Now(); s.Started.Before(begin.Add(-2*time.Second)) || s.Started.After(now.Add(2*time.Second)) {
			t.Errorf("it is said to have started at %s, between %s and %s", s.Started, begin, now)
		}
		// The ratio needs a sample from before the gets, and a second sample shows that the first one was taken.
		awaitState(t, url, "the canary", func(s api.State) bool { return s.Items == 1 && s.Hits > 1 })
		var sets strings.Builder
		for i := range 300 {
			fmt.Fprintf(&sets, "set key-%d 0 0 5 noreply\r\nvalue\r\n", i)
		}
		exchange(t, server.Address, sets.String()+strings.Repeat("get key-1\r\n", 3)+"get nothing\r\n")
		// memcached serves connections in turns, so a sample may have been taken after the hits and before the miss.
		s = awaitState(t, url, "the hit ratio of three hits and a miss", func(s api.State) bool { return s.HitRatio != nil && *s.HitRatio == 0.75 })
		if s.Misses < 1 || s.Hits < 3 {
			t.Errorf("after three hits and a miss the state is %+v", s)
		}

		if err := os.WriteFile(file, []byte("80"), 0o600); err != nil {
			t.Fatal(err)
		}
		awaitState(t, url, "a refusal", func(s api.State) bool {
			return strings.Contains(s.Problem, "-e and -L rule out") && s.CacheMemory == 64
		})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		awaitState(t, url, "no problem", func(s api.State) bool { return s.Problem == "" })

		server.Stop(syscall.SIGUSR1)
		answers(t, url+"/state", http.StatusServiceUnavailable, "connect to memcached: connect: connection refused\n")
		stopped := time.Now()
		server.RestartWarm(t)
		s = awaitState(t, url, "a warm start", func(s api.State) bool { return s.Warm })
		if s.Process != int64(server.PID()) || s.Restored < 300 || s.Before < 300 || s.Items < 300 || s.Run == before || s.Started.Before(stopped.Truncate(time.Second)) {
			t.Errorf("after a warm start the state is %+v", s)
		}
	})
}

func TestTheStateReportsProblems(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		authority := agenttesting.NewAuthority(t)
		files := authority.Issue(t, time.Now().Add(time.Hour))
		files["users"] = "user:before\n"
		files["cache-memory"] = "64"
		volume := agenttesting.NewVolume(t, files)
		server := run.Start(t, append(volume.TLS(), "-m", "64", "-Y", volume.File("users"))...)
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name, "--cache-memory-file", volume.File("cache-memory"),
			"--users-file", volume.File("users"), "--tls-ca", volume.File("ca.crt"), "--tls-server-name", agenttesting.ServerName,
			"--tls-certificate", volume.File("tls.crt"), "--tls-key", volume.File("tls.key"))
		certificates, err := volume.Files().Read()
		if err != nil {
			t.Fatal(err)
		}
		leaf := certificates.Leaf()
		want := api.Certificate{NotAfter: leaf.NotAfter, Fingerprint: api.Fingerprint(leaf.Raw)}
		awaitState(t, url, "the certificate", func(s api.State) bool { return s.Certificate != nil && *s.Certificate == want && s.Problem == "" })

		answers(t, url+"/metrics", http.StatusOK, "memcached_agent_reload_pending{what=\"users\"} 0\n")

		broken := authority.Issue(t, time.Now().Add(-time.Hour))
		broken["users"] = strings.Repeat("user:secret\n", 9)
		broken["cache-memory"] = "4"
		volume.Replace(t, broken)
		s := awaitState(t, url, "three problems", func(s api.State) bool { return strings.Count(s.Problem, "; ") == 2 })
		for _, says := range []string{
			"certificates are not reloaded: the certificate expired at ", "users are not reloaded: read the users: ", "names 9, but memcached takes at most 8",
			"the memory for items is 4 MiB",
		} {
			if !strings.Contains(s.Problem, says) {
				t.Errorf("the problem is %s, which lacks %q", s.Problem, says)
			}
		}
		if strings.Contains(s.Problem, "secret") {
			t.Errorf("the problem holds a password: %s", s.Problem)
		}
		volume.Replace(t, files)
		awaitState(t, url, "no problem", func(s api.State) bool { return s.Problem == "" })
	})
}
