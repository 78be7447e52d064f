package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// start runs the agent and returns its URL, and a function that ends it.
func start(t *testing.T, arguments ...string) (url string, stop func()) {
	t.Helper()
	return startTo(t, t.Output(), arguments...)
}

// startTo is start with a log to read. The arguments override the usual ones.
func startTo(t *testing.T, log io.Writer, arguments ...string) (url string, stop func()) {
	t.Helper()
	address := testkit.FreeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		usual := []string{"--bind-address", address, "--reload-interval=100ms", "--interval=1s"}
		ended <- Run(ctx, append(usual, arguments...), log)
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the agent ends with %v", err)
			}
		case <-time.After(15 * time.Second):
			t.Error("the agent does not end")
		}
	}
	t.Cleanup(stop)
	agenttesting.Await(t, "the agent serves", func() error {
		_, _, err := get("http://" + address + "/healthz")
		return err
	})
	return "http://" + address, stop
}

func get(url string) (int, string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// answers waits until a page has the status and all parts.
func answers(t *testing.T, url string, status int, parts ...string) {
	t.Helper()
	agenttesting.Await(t, fmt.Sprintf("%s answers %d with %q", url, status, parts), func() error {
		got, body, err := get(url)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if got != status || !strings.Contains(body, part) {
				return fmt.Errorf("%d, and no %q in %d bytes that begin with %.300s", got, part, len(body), body)
			}
		}
		return nil
	})
}

// The agent as in a pod: memcached asks for client certificates and passwords, and all of them are replaced.
func TestTheAgentServesMetricsAndProbesAndReloads(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		authority := agenttesting.NewAuthority(t)
		files := authority.Issue(t, time.Now().Add(time.Hour))
		files["users"] = "user:before\n"
		volume := agenttesting.NewVolume(t, files)
		volume.Age(t, time.Hour)
		server := run.Start(t, append(volume.TLS(), "-Y", volume.File("users"))...)
		url, stop := start(t, "--memcached", server.Address, "--process", server.Name, "--directory", t.TempDir(),
			"--users-file", volume.File("users"), "--tls-ca", volume.File("ca.crt"), "--tls-server-name", agenttesting.ServerName,
			"--tls-certificate", volume.File("tls.crt"), "--tls-key", volume.File("tls.key"))
		answers(t, url+"/readyz", http.StatusOK, "ok")
		answers(t, url+"/livez", http.StatusOK, "ok")
		answers(t, url+"/metrics", http.StatusOK,
			"memcached_up 1\n", "memcached_version{version=\""+run.Version+"\"} 1\n", "memcached_limit_bytes 6.7108864e+07\n",
			"memcached_agent_canary_duration_seconds_count{operation=\"get\"}",
			"memcached_agent_canary_errors_total{operation=\"set\"} 0\n",
			"memcached_agent_certificate_not_after_timestamp_seconds ",
			"memcached_agent_starts_total{kind=\"cold\"} 1\n",
			"memcached_agent_reload_pending{what=\"certificates\"} 0\n", "memcached_agent_reload_pending{what=\"users\"} 0\n",
			"go_goroutines ", "process_open_fds ")

		notAfter := time.Now().Add(3 * time.Hour).Truncate(time.Second)
		files = authority.Issue(t, notAfter)
		files["users"] = "user:after\n"
		volume.Replace(t, files)
		answers(t, url+"/metrics", http.StatusOK,
			"memcached_up 1\n", fmt.Sprintf("memcached_agent_certificate_not_after_timestamp_seconds %v\n", float64(notAfter.Unix())),
			"memcached_agent_reloads_total{outcome=\"success\",what=\"users\"} 1\n",
			"memcached_agent_reloads_total{outcome=\"success\",what=\"certificates\"} 1\n")
		answers(t, url+"/readyz", http.StatusOK, "ok")

		server.Stop(syscall.SIGTERM)
		answers(t, url+"/readyz", http.StatusServiceUnavailable, "connect to memcached")
		answers(t, url+"/livez", http.StatusServiceUnavailable, "connect to memcached")
		answers(t, url+"/healthz", http.StatusOK, "ok")
		answers(t, url+"/metrics", http.StatusOK, "memcached_up 0\n")
		server.Restart(t)
		answers(t, url+"/readyz", http.StatusOK, "ok")
		answers(t, url+"/metrics", http.StatusOK, "memcached_up 1\n", "memcached_agent_starts_total{kind=\"cold\"} 2\n")
		stop()
	})
}

func TestAMemcachedThatRejectsTheAgentIsAliveButNotReady(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		volume := agenttesting.NewVolume(t, map[string]string{"users": "user:secret\n", "wrong": "user:guess\n"})
		server := run.Start(t, "-Y", volume.File("users"))
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name, "--users-file", volume.File("wrong"))
		answers(t, url+"/livez", http.StatusOK, "ok")
		answers(t, url+"/readyz", http.StatusServiceUnavailable, "rejects the user or the password")
		answers(t, url+"/metrics", http.StatusOK, "memcached_up 0\n", "memcached_agent_reload_pending{what=\"users\"} 1\n")
	})
}

// This test looks at all goroutines, so nothing runs in parallel with it.
func TestNothingIsLeftWhenTheAgentEnds(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Setenv("TMPDIR", t.TempDir())
	url, stop := start(t, "--memcached", testkit.FreeAddress(t))
	answers(t, url+"/metrics", http.StatusOK, "memcached_up 0\n")
	stop()
	agenttesting.Await(t, "no goroutine is left", func() error { return goleak.Find(before) })
	if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(os.Getenv("TMPDIR")); errors.Is(err, os.ErrNotExist) {
		t.Error("the directory for temporary files is gone")
	}
}

func TestNoGoroutineIsLeftWhenTheAgentOfAMemcachedEnds(t *testing.T) {
	for _, run := range agenttesting.All(t) {
		volume := agenttesting.NewVolume(t, map[string]string{"users": "user:secret\n", "memory": "100"})
		server := run.Start(t, "-Y", volume.File("users"))
		before := goleak.IgnoreCurrent()
		url, stop := start(t, "--memcached", server.Address, "--process", server.Name, "--users-file", volume.File("users"),
			"--cache-memory-file", volume.File("memory"))
		answers(t, url+"/readyz", http.StatusOK, "ok")
		answers(t, url+"/state", http.StatusOK, `"cacheMemory":100`)
		answers(t, url+"/metrics", http.StatusOK, "memcached_up 1\n")
		stop()
		agenttesting.Await(t, "no goroutine is left", func() error { return goleak.Find(before) })
	}
}
