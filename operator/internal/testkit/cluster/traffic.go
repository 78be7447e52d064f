package cluster

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Request is one request of the operator to the API server.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Sent   time.Time
	Code   int // 0 until there is an answer.
}

// String returns for example "PATCH /apis/apps/v1/namespaces/test/deployments/cache 200".
func (r Request) String() string { return fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Code) }

// Traffic records requests.
type Traffic struct {
	mutex    sync.Mutex
	requests []Request
}

// Wrap is a transport wrapper, for rest.Config.Wrap. It records a request before it is sent: who sees what a request has
// done finds it recorded.
func (t *Traffic) Wrap(next http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(request *http.Request) (*http.Response, error) {
		t.mutex.Lock()
		index := len(t.requests)
		t.requests = append(t.requests, Request{Method: request.Method, Path: request.URL.Path, Query: request.URL.Query(), Sent: time.Now()})
		t.mutex.Unlock()
		response, err := next.RoundTrip(request)
		if response != nil {
			t.mutex.Lock()
			defer t.mutex.Unlock()
			t.requests[index].Code = response.StatusCode
		}
		return response, err
	})
}

// Writes returns all requests that may change something: no dry runs, and no events, which are not part of any object's state.
func (t *Traffic) Writes() []Request {
	return t.filter(func(r Request) bool {
		return r.Method != http.MethodGet && !r.Query.Has("dryRun") && !strings.Contains(r.Path, "/events")
	})
}

// LiveReads returns all requests that read something now: neither watches nor discovery.
func (t *Traffic) LiveReads() []Request {
	return t.filter(func(r Request) bool {
		return r.Method == http.MethodGet && !r.Query.Has("watch") && strings.Contains(r.Path, "/namespaces/")
	})
}

// Watches returns all requests that follow a kind of object from now on.
func (t *Traffic) Watches() []Request {
	return t.filter(func(r Request) bool { return r.Query.Has("watch") })
}

// Count returns how many requests of a method have a path with this part.
func (t *Traffic) Count(method, part string) int {
	return len(t.filter(func(r Request) bool { return r.Method == method && strings.Contains(r.Path, part) }))
}

func (t *Traffic) filter(keep func(Request) bool) []Request {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(t.requests), func(r Request) bool { return !keep(r) })
}
