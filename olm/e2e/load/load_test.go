package load_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/load"
)

// memory is a memcached that knows set and gets. Ending it ends its connections, as the end of a container does.
type memory struct {
	listener net.Listener
	mutex    sync.Mutex
	items    map[string]string
	open     []net.Conn
}

func newMemory(t *testing.T) *memory {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{listener: listener, items: map[string]string{}}
	go m.accept()
	t.Cleanup(m.end)
	return m
}

func (m *memory) address() string { return m.listener.Addr().String() }

func (m *memory) accept() {
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			return
		}
		m.mutex.Lock()
		m.open = append(m.open, conn)
		m.mutex.Unlock()
		go m.serve(conn)
	}
}

func (m *memory) serve(conn net.Conn) {
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		words := strings.Fields(line)
		if err != nil || len(words) < 2 {
			return
		}
		m.mutex.Lock()
		if words[0] == "set" {
			value, _ := lines.ReadString('\n')
			m.items[words[1]] = strings.TrimSuffix(value, "\r\n")
			_, _ = io.WriteString(conn, "STORED\r\n")
		} else {
			for _, key := range words[1:] {
				if value, ok := m.items[key]; ok {
					_, _ = fmt.Fprintf(conn, "VALUE %s 0 %d 1\r\n%s\r\n", key, len(value), value)
				}
			}
			_, _ = io.WriteString(conn, "END\r\n")
		}
		m.mutex.Unlock()
	}
}

func (m *memory) lose(keys ...string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, key := range keys {
		delete(m.items, key)
	}
}

// disconnect ends the connections that are open, and goes on listening.
func (m *memory) disconnect() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, conn := range m.open {
		_ = conn.Close()
	}
	m.open = nil
}

func (m *memory) end() {
	_ = m.listener.Close()
	m.disconnect()
}

// within polls until the counts since the call satisfy enough.
func within(t *testing.T, l *load.Load, what string, enough func(load.Counts) bool) load.Counts {
	t.Helper()
	var sum load.Counts
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) {
		counts := l.Counts()
		sum.Requests += counts.Requests
		sum.Failed += counts.Failed
		sum.Slowest = max(sum.Slowest, counts.Slowest)
		sum.Failures = append(sum.Failures, counts.Failures...)
		if enough(sum) {
			return sum
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 10 s: %+v", what, sum)
		}
	}
}

func start(t *testing.T, servers ...load.Server) *load.Load {
	t.Helper()
	l := load.Start(servers)
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestNothingFailsOnServersThatServe(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer web.Close()
	l := start(t, load.NewMemcached("a", newMemory(t).address()), load.NewMemcached("b", newMemory(t).address()), load.NewWeb("c", web.URL))
	counts := within(t, l, "50 requests", func(c load.Counts) bool { return c.Requests >= 50 })
	if counts.Failed != 0 {
		t.Errorf("failed: %v", counts.Failures)
	}
	if counts.Slowest == 0 {
		t.Error("no round took any time")
	}
}

// website answers until it is broken, then that it cannot.
func website(t *testing.T) (server *httptest.Server, breakIt func()) {
	var broken atomic.Bool
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	return server, func() { broken.Store(true) }
}

func TestEveryWayToFailIsCounted(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) (server load.Server, trouble func()){
		"the server is gone": func(t *testing.T) (load.Server, func()) {
			m := newMemory(t)
			return load.NewMemcached("a", m.address()), m.end
		},
		"the server has started anew": func(t *testing.T) (load.Server, func()) {
			m := newMemory(t)
			return load.NewMemcached("a", m.address()), m.disconnect
		},
		"the website answers that it cannot": func(t *testing.T) (load.Server, func()) {
			web, breakIt := website(t)
			return load.NewWeb("a", web.URL), breakIt
		},
		"the website is gone": func(t *testing.T) (load.Server, func()) {
			web, _ := website(t)
			return load.NewWeb("a", web.URL), web.Close
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, trouble := make(t)
			l := start(t, server)
			before := within(t, l, "requests", func(c load.Counts) bool { return c.Requests > 3 })
			if before.Failed > 0 {
				t.Errorf("failed before: %v", before.Failures)
			}
			trouble()
			after := within(t, l, "failure", func(c load.Counts) bool { return c.Failed > 0 })
			if len(after.Failures) == 0 || !strings.Contains(after.Failures[0], " a: ") {
				t.Errorf("the failure is not told: %v", after.Failures)
			}
		})
	}
}

func TestItemsThatAreGoneAreMissing(t *testing.T) {
	m := newMemory(t)
	server := load.NewMemcached("a", m.address())
	if err := server.Store(20); err != nil {
		t.Fatal(err)
	}
	if missing, err := server.Missing(20); missing != 0 || err != nil {
		t.Errorf("%d missing, %v", missing, err)
	}
	m.lose("stored-3", "stored-7")
	if missing, err := server.Missing(20); missing != 2 || err != nil {
		t.Errorf("after two were lost: %d missing, %v", missing, err)
	}
	m.end()
	if missing, err := server.Missing(20); missing != 20 || err == nil {
		t.Errorf("of a server that is gone: %d missing, %v", missing, err)
	}
}
