package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/olm/e2e/clients"
)

// memory is a store in this process. late makes another pod create the item between a miss and the request after it.
type memory struct {
	visits uint64
	late   bool
	broken error
}

func (m *memory) Increment(string, uint64) (uint64, error) {
	if m.broken != nil {
		return 0, m.broken
	}
	if m.visits == 0 {
		return 0, memcache.ErrCacheMiss
	}
	m.visits++
	return m.visits, nil
}

func (m *memory) Add(item *memcache.Item) error {
	if m.late {
		m.visits = 7
		return memcache.ErrNotStored
	}
	if string(item.Value) != "1" {
		return errors.New("the first visit is number 1")
	}
	m.visits = 1
	return nil
}

func get(t *testing.T, handler http.Handler, path string, into any) int {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if into != nil {
		if err := json.Unmarshal(recorder.Body.Bytes(), into); err != nil {
			t.Fatalf("%s answered %q: %v", path, recorder.Body, err)
		}
	}
	return recorder.Code
}

func TestVisitsAreCountedOrAProblemIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		servers []string
		store   memory
		visits  int
		want    page
	}{
		"the first visit":                  {[]string{"a:11211"}, memory{}, 1, page{Visits: 1}},
		"the third visit":                  {[]string{"a:11211"}, memory{}, 3, page{Visits: 3}},
		"another pod counts the first one": {[]string{"a:11211"}, memory{late: true}, 1, page{Visits: 8}},
		"no cache is bound":                {nil, memory{}, 1, page{Problem: "no cache is bound: MEMCACHED_SERVERS is empty"}},
		"the cache is not there yet":       {[]string{"gone:11211"}, memory{}, 1, page{Problem: "no cache found: no such host"}},
		"one of two caches is there":       {[]string{"gone:11211", "a:11211"}, memory{}, 1, page{Visits: 1}},
		"the cache does not answer":        {[]string{"a:11211"}, memory{broken: errors.New("timeout")}, 1, page{Problem: "the cache does not answer: timeout"}},
		"a server without a port":          {[]string{"a"}, memory{}, 1, page{Problem: "no cache found: MEMCACHED_SERVERS: address a: missing port in address"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounter(test.servers)
			c.store, c.lookup = &test.store, lookup
			handler := site{pod: "web-1", counter: c}.handler()
			var got page
			for range test.visits {
				got = page{}
				if status := get(t, handler, "/", &got); status != http.StatusOK {
					t.Errorf("status %d", status)
				}
			}
			test.want.Pod = "web-1"
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func lookup(_ context.Context, host string) ([]string, error) {
	if host == "gone" {
		return nil, errors.New("no such host")
	}
	return []string{"198.51.100.2", "198.51.100.1"}, nil
}

func TestEveryAddressOfAHostIsUsedInAFixedOrder(t *testing.T) {
	c := newCounter(servers("a:11211, b:11212"))
	c.lookup = lookup
	if err := c.findNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	var nodes []string
	if err := c.nodes.Each(func(node net.Addr) error { nodes = append(nodes, node.String()); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []string{"198.51.100.1:11211", "198.51.100.1:11212", "198.51.100.2:11211", "198.51.100.2:11212"}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBindingsAreShownWithoutSecrets(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"sessions/type": "memcached", "sessions/host": "sessions-nodes.default.svc", "sessions/password": "sesame",
		"sessions/..data": "links of the kubelet", "empty/..data": "",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got map[string]map[string]string
	get(t, site{bindings: root}.handler(), "/binding", &got)
	want := map[string]map[string]string{
		"sessions": {"type": "memcached", "host": "sessions-nodes.default.svc", "password": "(not shown)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := os.MkdirAll(filepath.Join(root, "broken", "type"), 0o750); err != nil {
		t.Fatal(err)
	}
	if status := get(t, site{bindings: root}.handler(), "/binding", nil); status != http.StatusInternalServerError {
		t.Errorf("an entry that cannot be read: status %d", status)
	}
	got = nil
	if status := get(t, site{}.handler(), "/binding", &got); status != http.StatusOK || len(got) != 0 {
		t.Errorf("without bindings: status %d, %v", status, got)
	}
}

func TestARequestUnderWayIsCompletedBeforeTheEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		write(w, page{Pod: "web-1"})
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, handler) }()
	answer := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answer <- string(body)
	}()
	<-began
	stop()
	awaitRefusal(t, listener.Addr().String())
	close(finish)
	if got := <-answer; !strings.Contains(got, "web-1") {
		t.Errorf("the request under way got %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAVisitorCountsEveryRequestAndTheFailedOnes(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer page.Close()
	address := page.Listener.Addr().String()
	for name, test := range map[string]struct {
		run  func(context.Context, net.Listener) error
		says string
	}{
		"of a page":      {func(ctx context.Context, l net.Listener) error { return visit(ctx, l, page.URL) }, "502"},
		"of a memcached": {func(ctx context.Context, l net.Listener) error { return use(ctx, l, []string{address}) }, address},
	} {
		t.Run(name, func(t *testing.T) { countsFailures(t, test.run, test.says) })
	}
}

func countsFailures(t *testing.T, run func(context.Context, net.Listener) error, says string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener) }()
	var counts clients.Counts
	for deadline := time.Now().Add(10 * time.Second); counts.Requests == 0; {
		response, err := http.Get("http://" + listener.Addr().String() + "/counts")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(json.NewDecoder(response.Body).Decode(&counts), response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was asked for within 10 s")
		}
	}
	if counts.Failed != counts.Requests || !strings.Contains(counts.Failures[0], says) {
		t.Errorf("counted %+v", counts)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"visit"}, {"help"}, {"visit", "a", "b"}, {"use"}} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), "usage: webapp") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// awaitRefusal waits until new connections are refused.
func awaitRefusal(t *testing.T, address string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			tick.Stop()
			return
		}
		connection.Close()
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("new connections are still accepted after the signal")
		}
	}
}
