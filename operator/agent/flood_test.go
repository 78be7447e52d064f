package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// connect connects from an address of loopback and sends text. The connection stays open until the end of the test.
func connect(t *testing.T, from, to, text string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", strings.TrimPrefix(to, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(1 << 10) // The answer does not fit in.
	_, _ = io.WriteString(conn, text)              // The agent may have closed the connection.
	return conn
}

// probe asks as the kubelet does, which takes a pod for unready after five probes in a row that fail or take more than two seconds.
func probe(t *testing.T, url string) {
	t.Helper()
	var err error
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		var response *http.Response
		if response, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request); err != nil {
			continue
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK && err == nil {
			return
		}
		err = fmt.Errorf("status %d, %w", response.StatusCode, err)
	}
	t.Errorf("%s: %v", url, err)
}

func TestAFloodLeavesThePodReady(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t)
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name)
		answers(t, url+"/readyz", http.StatusOK, "ok")
		for what, text := range map[string]string{
			"idle": "", "half-sent": "GET /metrics HTTP/1.1\r\nX-", "with a body that never comes": "GET /state HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
			"slow readers": strings.Repeat("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 20),
		} {
			for i := range 500 {
				connect(t, "127.0.0.2", url, text)
				connect(t, fmt.Sprintf("127.0.1.%d", i%250), url, text)
			}
			for _, path := range []string{"/readyz", "/livez", "/healthz", "/state", "/metrics"} {
				t.Run(what+path, func(t *testing.T) { probe(t, url+path) })
			}
		}
	})
}

func TestRequestsThatNobodyNeedsAreRefused(t *testing.T) {
	url, _ := start(t)
	for text, want := range map[string]int{
		"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n":                                           http.StatusOK,
		"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": http.StatusRequestHeaderFieldsTooLarge,
		"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsomething":             http.StatusRequestEntityTooLarge,
		"GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n":             http.StatusRequestEntityTooLarge,
		"POST /healthz HTTP/1.1\r\nHost: a\r\n\r\n":                                          http.StatusMethodNotAllowed,
	} {
		response, err := http.ReadResponse(bufio.NewReader(connect(t, "127.0.0.2", url, text)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != want || !response.Close {
			t.Errorf("%.70q is answered with %d, want %d, and ends the connection: %t", text, response.StatusCode, want, response.Close)
		}
	}
}

// While memcached hangs, a scrape takes seconds.
func TestAFloodOfScrapesDisplacesNone(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		server := run.Start(t)
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name)
		answers(t, url+"/metrics", http.StatusOK, "memcached_up 1\n")
		signal(t, server, syscall.SIGSTOP)
		defer signal(t, server, syscall.SIGCONT)
		var scrapes sync.WaitGroup
		for range 30 {
			scrapes.Go(func() {
				if status, page, err := get(url + "/metrics"); status != http.StatusOK || err != nil || !strings.Contains(page, "memcached_up 0\n") {
					t.Errorf("a scrape is answered %d %.200s, %v", status, page, err)
				}
			})
		}
		scrapes.Wait()
	})
}
