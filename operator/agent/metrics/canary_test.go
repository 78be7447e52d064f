package metrics_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/metrics"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

func dialer(t *testing.T, address string) *memcached.Dialer {
	t.Helper()
	return memcached.NewDialer(address, &api.Certificates{}, &api.Users{})
}

// expect fails the test unless every sample is shown.
func expect(t *testing.T, registry *prometheus.Registry, samples ...string) {
	t.Helper()
	shown := agenttesting.Metrics(t, registry)
	for _, sample := range samples {
		if !slices.Contains(shown, sample) {
			t.Errorf("no %s in\n%s", sample, strings.Join(shown, "\n"))
		}
	}
}

func TestTheCanaryMeasuresAndCounts(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t)
		registry := prometheus.NewRegistry()
		canary := metrics.NewCanary(dialer(t, server.Address), strings.Repeat("a-very-long-name", 20), registry)
		defer canary.Close()
		expect(t, registry, `memcached_agent_canary_errors_total{operation="set"} 0`, `memcached_agent_canary_errors_total{operation="get"} 0`)
		for range 3 {
			if err := canary.Measure(); err != nil {
				t.Fatal(err)
			}
		}
		if hits := canary.Hits(); hits != 3 {
			t.Errorf("%d hits are the canary's, want 3", hits)
		}
		server.Stop(syscall.SIGTERM)
		if err := canary.Measure(); err == nil {
			t.Error("it measures without memcached")
		}
		expect(t, registry,
			`memcached_agent_canary_duration_seconds_count{operation="set"} 3`,
			`memcached_agent_canary_duration_seconds_count{operation="get"} 3`,
			`memcached_agent_canary_errors_total{operation="connect"} 1`,
			`memcached_agent_canary_errors_total{operation="set"} 0`,
			`memcached_agent_canary_errors_total{operation="get"} 0`)
		server.Restart(t)
		if err := canary.Measure(); err != nil {
			t.Errorf("it does not measure again: %v", err)
		}
	})
}

func TestAValueThatWasNotStoredIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if key, ok := strings.CutPrefix(lines.Text(), "gets "); ok {
				_, _ = fmt.Fprintf(conn, "VALUE %s 0 5 1\r\nother\r\nEND\r\n", key)
			} else if lines.Text() == "version" {
				_, _ = fmt.Fprint(conn, "VERSION 1.2.3\r\n")
			} else if !strings.HasPrefix(lines.Text(), "set ") {
				_, _ = fmt.Fprint(conn, "STORED\r\n")
			}
		}
	}()
	registry := prometheus.NewRegistry()
	canary := metrics.NewCanary(dialer(t, listener.Addr().String()), "pod", registry)
	defer canary.Close()
	if err := canary.Measure(); err == nil || !strings.Contains(err.Error(), "another value") {
		t.Errorf("the error is %v", err)
	}
	expect(t, registry, `memcached_agent_canary_errors_total{operation="get"} 1`)
}
