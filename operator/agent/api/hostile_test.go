package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
)

const sound = `{"version":"1.6.45","process":17}`

// A memcached that was taken over can answer in the place of its agent.
func TestFetchRefusesHostileAnswers(t *testing.T) {
	var visits atomic.Int32
	inside := agent(t, func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_, _ = fmt.Fprint(w, sound)
	})
	var packed bytes.Buffer
	compressor := gzip.NewWriter(&packed)
	_, _ = fmt.Fprint(compressor, sound)
	_ = compressor.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+inside+"/latest/meta-data", http.StatusFound)
		},
		"headers without end": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<10))
			}
			_, _ = fmt.Fprint(w, sound)
		},
		"a body that is a state as far as it is read": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, sound, strings.Repeat(" ", 1<<20))
		},
		"a compressed answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		},
		"plain text that claims to be compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = fmt.Fprint(w, sound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := fetch(t, agent(t, answer)); got != nil || err == nil || len(err.Error()) > 1<<10 {
				t.Errorf("got %+v and %v", got, err)
			}
		})
	}
	if n := visits.Load(); n > 0 {
		t.Errorf("a redirect led to another server %d times", n)
	}
}

// What an agent reports can reach conditions, events and annotations.
func TestFetchRefusesStatesThatNoAgentReports(t *testing.T) {
	for name, state := range map[string]string{
		"nothing":                 `{}`,
		"no version":              `{"version":"<script>"}`,
		"a long version":          `{"version":"1` + strings.Repeat("0", 1000) + `"}`,
		"a run with a line break": `{"version":"1.6.45","run":"1\n2"}`,
		"a long run":              `{"version":"1.6.45","run":"` + strings.Repeat("a", 1000) + `"}`,
		"a negative number":       `{"version":"1.6.45","items":-1}`,
		"a hash table that overflows when its size is added to others": `{"version":"1.6.45","hashBytes":9223372036854775807}`,
		"more hits than gets":  `{"version":"1.6.45","hitRatio":1.5}`,
		"fewer hits than none": `{"version":"1.6.45","hitRatio":-0.5}`,
		"a fingerprint of another kind": `{"version":"1.6.45","certificate":{"notAfter":"2027-01-02T03:04:05Z","fingerprint":"` +
			strings.Repeat("z", 64) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fetch(t, agent(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, state) }))
			if got != nil || err == nil {
				t.Errorf("got %+v and %v", got, err)
			}
		})
	}
}

func TestAProblemIsOneLineOfBoundedLength(t *testing.T) {
	long := `{"version":"1.6.45","problem":"memcached\u001b[2J\n\u202eFATAL: ` + strings.Repeat("ä", 5000) + `"}`
	got, err := fetch(t, agent(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, long) }))
	if err != nil {
		t.Fatal(err)
	}
	unprintable := strings.IndexFunc(got.Problem, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
	if !strings.HasPrefix(got.Problem, "memcached") || len(got.Problem) > 1<<10 || unprintable >= 0 {
		t.Errorf("the problem has %d bytes, and a control character at %d: %q", len(got.Problem), unprintable, got.Problem)
	}
}

// An agent that has more connections than it keeps closes one, with a reset if it had not read the request.
func TestFetchAsksOnceMoreIfTheAgentHangsUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	readRequest := func(conn net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(conn)) }
	answer := func(conn net.Conn) {
		readRequest(conn)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(sound), sound)
	}
	reset := func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) }
	go func() {
		for _, serve := range []func(net.Conn){reset, answer, readRequest, answer} {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	for range 2 {
		if got, err := fetch(t, listener.Addr().String()); err != nil || got.Process != 17 {
			t.Errorf("got %+v and %v", got, err)
		}
	}
}
