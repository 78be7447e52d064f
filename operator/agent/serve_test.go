package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// statistics returns the statistics of a memcached without TLS and users.
func statistics(t *testing.T, address string) memcached.Stats {
	t.Helper()
	conn, err := memcached.NewDialer(address, &api.Certificates{}, &api.Users{}).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stats, err := conn.Stats(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// memcached is stopped until all requests are there, so each of them would have a connection at the same time.
func TestManyRequestsShareOneConnection(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t, "-c", "64", "-t", "4")
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name, "--probe-timeout=15s")
		answers(t, url+"/state", http.StatusOK, run.Version)
		signal(t, server, syscall.SIGSTOP)
		var asked atomic.Int32
		var all sync.WaitGroup
		const requests = 80
		for i, path := range []string{"/state", "/livez", "/readyz"} {
			for n := range requests {
				all.Go(func() {
					from := fmt.Sprintf("127.0.2.%d", i*requests+n)
					if err := request(t, from, url+path, func() { asked.Add(1) }); err != nil {
						t.Error(err)
					}
				})
			}
		}
		agenttesting.Await(t, "all requests are made", func() error {
			if n := asked.Load(); n < 3*requests {
				return fmt.Errorf("%d so far", n)
			}
			return nil
		})
		signal(t, server, syscall.SIGCONT)
		all.Wait()
		if rejected := statistics(t, server.Address)["rejected_connections"]; rejected != "0" {
			t.Errorf("memcached has rejected %s connections", rejected)
		}
	})
}

func signal(t *testing.T, server *agenttesting.Server, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(server.PID(), signal); err != nil {
		t.Fatal(err)
	}
}

// request makes one request from an address of loopback, calls made once it is written, and fails unless the answer is 200.
func request(t *testing.T, from, url string, made func()) error {
	trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { made() }})
	asked, err := http.NewRequestWithContext(trace, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}, Timeout: 30 * time.Second}
	response, err := client.Do(asked)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s answers %d: %s", url, response.StatusCode, body))
	}
	return err
}

func TestOneClientThatHangsUpTakesNoAnswerFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &query{limit: time.Minute, ask: func(ctx context.Context) (any, error) {
			<-time.After(time.Second)
			return nil, ctx.Err()
		}}
		ctx, hangUp := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- answer(ctx, q) }()
		synctest.Wait()
		go func() { second <- answer(t.Context(), q) }()
		synctest.Wait()
		hangUp()
		begin := time.Now()
		if err := <-first; !errors.Is(err, context.Canceled) || time.Since(begin) > 0 {
			t.Errorf("a client that hung up gets %v after %s", err, time.Since(begin))
		}
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

func answer(ctx context.Context, q *query) error {
	_, err := q.answer(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
	return err
}

// Each question can be a TLS handshake of memcached, which has clients to serve.
func TestAFloodAsksMemcachedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		q := &query{limit: time.Minute, ask: func(context.Context) (any, error) {
			asked++
			return nil, nil
		}}
		begin := time.Now()
		if err := answer(t.Context(), q); err != nil || time.Since(begin) > 0 {
			t.Errorf("without a flood, an answer takes %s: %v", time.Since(begin), err)
		}
		for range 10_000 {
			before := time.Now()
			if err := answer(t.Context(), q); err != nil || time.Since(before) > 100*time.Millisecond {
				t.Fatalf("an answer takes %s: %v", time.Since(before), err)
			}
		}
		if most := int(time.Since(begin)/(100*time.Millisecond)) + 1; asked > most {
			t.Errorf("memcached was asked %d times in %s", asked, time.Since(begin))
		}
	})
}

func TestRequestsAreLimitedInTime(t *testing.T) {
	o, err := parse([]string{"--bind-address=127.0.0.1:0", "--directory", t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	a, err := wire(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.listener.Close()
	defer a.bridge.Close()
	for what, limit := range map[string]time.Duration{
		"headers": a.server.ReadHeaderTimeout, "a request": a.server.ReadTimeout, "an answer": a.server.WriteTimeout, "nothing": a.server.IdleTimeout,
	} {
		if limit <= 0 || limit > 30*time.Second {
			t.Errorf("a client has %s for %s", limit, what)
		}
	}
	if a.server.WriteTimeout < 10*time.Second {
		t.Errorf("Prometheus has only %s for a scrape", a.server.WriteTimeout)
	}
}

// The garbage collector, which closes forgotten connections at some time, is off. So nothing runs in parallel with this test.
func TestScrapesLeaveNoConnectionBehind(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, run := range agenttesting.All(t) {
		t.Run(run.Version, func(t *testing.T) {
			server := run.Start(t)
			url, _ := start(t, "--memcached", server.Address, "--process", server.Name, "--interval=1h", "--hang-patience=0")
			answers(t, url+"/metrics", http.StatusOK, "memcached_agent_starts_total{kind=\"cold\"} 1\n") // Only the canary's stays: no watchdog has one.
			var scrapes sync.WaitGroup
			for range 3 {
				scrapes.Go(func() {
					for range 10 {
						status, body, err := get(url + "/metrics")
						if err != nil || status != http.StatusOK || !strings.Contains(body, "memcached_up 1\n") {
							t.Errorf("a scrape: %d, %v, and memcached is not up", status, err)
						}
					}
				})
			}
			scrapes.Wait()
			agenttesting.Await(t, "the connections of scrapes are closed", func() error {
				// That of the canary, and that of this query.
				if open := statistics(t, server.Address)["curr_connections"]; open != "2" {
					return fmt.Errorf("%s are open", open)
				}
				return nil
			})
		})
	}
}
