package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/agent/api"
)

// agent starts a server in the place of an agent, and returns its address.
func agent(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// fetch asks an agent that answers at once. It may get little CPU time.
func fetch(t *testing.T, address string) (*api.State, error) {
	t.Helper()
	return fetchWithin(t, time.Minute, address)
}

func fetchWithin(t *testing.T, limit time.Duration, address string) (*api.State, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return api.Fetch(ctx, address)
}

func TestFetchReturnsTheStateOfTheAgent(t *testing.T) {
	ratio, fingerprint := 0.25, strings.Repeat("ab", 32)
	for name, test := range map[string]struct {
		answer string
		want   api.State
	}{
		"everything": {
			`{"version":"1.6.45","process":17,"started":"2026-01-02T03:04:05Z","warm":true,"before":9,"restored":8,"items":10,"hits":1,
			"misses":3,"evictions":2,"hitRatio":0.25,"cacheMemory":64,"certificate":{"notAfter":"2027-01-02T03:04:05Z",
			"fingerprint":"` + fingerprint + `"},"problem":"users are not reloaded: no"}`,
			api.State{
				Version: "1.6.45", Process: 17, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Warm: true, Before: 9, Restored: 8,
				Items: 10, Hits: 1, Misses: 3, Evictions: 2, HitRatio: &ratio, CacheMemory: 64,
				Certificate: &api.Certificate{NotAfter: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), Fingerprint: fingerprint},
				Problem:     "users are not reloaded: no",
			},
		},
		"of a later release": {`{"version":"1.6.45","hitRatio":null,"certificate":null,"novelty":{"a":1}}`, api.State{Version: "1.6.45"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fetch(t, agent(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/state" || r.Method != http.MethodGet {
					t.Errorf("%s %s is asked for", r.Method, r.URL.Path)
				}
				_, _ = fmt.Fprint(w, test.answer)
			}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsSayWhoDoesNotAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	_ = listener.Close()
	for name, test := range map[string]struct {
		address string
		want    string // How the error begins.
		why     string // How it ends.
	}{
		"nobody listens": {nobody, "ask the agent: ", "connect: connection refused"},
		"an agent that does not answer": {agent(t, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}), "ask the agent: ", "context deadline exceeded"},
		"an agent that stops half-way": {agent(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, "{")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), "read what the agent answers: ", "context deadline exceeded"},
		"a memcached that does not answer": {agent(t, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "connect to memcached: connection refused", http.StatusServiceUnavailable)
		}), "memcached does not answer its agent: ", "connect to memcached: connection refused"},
		"an older agent": {agent(t, http.NotFound), "the agent answers 404", ": is it of another version?"},
		"no agent": {agent(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }),
			"what the agent answers is not its state", ": is it of another version?"},
		"endless": {agent(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"version":"`, strings.Repeat("1", 1<<20), `"}`)
		}), "what the agent answers is not its state", ": is it of another version?"},
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Minute
			if test.why == "context deadline exceeded" {
				limit = 200 * time.Millisecond
			}
			got, err := fetchWithin(t, limit, test.address)
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) || !strings.HasSuffix(err.Error(), test.why) {
				t.Errorf("the error is %v, want %s ... %s", err, test.want, test.why)
			}
		})
	}
}
