package inject_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/memcached-operator/operator/faults/inject"
)

// fixture is an API server that counts requests, and a process of an operator.
type fixture struct {
	*inject.Injector
	server *httptest.Server
	asked  atomic.Int32
}

func newFixture(t *testing.T, answer http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{Injector: inject.New()}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(f.server.Close)
	return f
}

func (f *fixture) ask(process *inject.Process, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, f.server.URL+path, nil)
	if err != nil {
		return nil, err
	}
	return process.Wrap(http.DefaultTransport).RoundTrip(request)
}

const (
	deployment = "/apis/apps/v1/namespaces/test/deployments/cache"
	allPods    = "/api/v1/namespaces/test/pods"
)

func TestRequestsHaveTheSameNamesInEachRun(t *testing.T) {
	f := newFixture(t, nil)
	process := f.Process()
	for _, request := range [][2]string{
		{"PATCH", deployment}, {"PATCH", deployment + "?dryRun=All"}, {"PATCH", deployment},
		{"GET", allPods}, {"GET", allPods + "?watch=true"}, {"PATCH", allPods + "/cache-55b6657d8-6ffcx"}, {"PATCH", allPods + "/cache-0"},
		{"PATCH", "/apis/cache.example.com/v1alpha1/namespaces/test/memcacheds/cache/status"},
		{"GET", "/apis"}, {"POST", "/api/v1/namespaces/test/events"}, // Neither has a name.
	} {
		response, err := f.ask(process, request[0], request[1])
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	var got []string
	for _, record := range f.Records() {
		got = append(got, record.String())
		if parsed, err := inject.ParseCall(record.String()); err != nil || parsed != record.Call {
			t.Errorf("%q is parsed as %v: %v", record, parsed, err)
		}
		if record.Namespace != "test" || record.Code != http.StatusOK || record.Injected {
			t.Errorf("the record is %+v", record)
		}
	}
	want := []string{
		"patch deployments/cache #1", "dry-run-patch deployments/cache #1", "patch deployments/cache #2", "list pods #1", "watch pods #1",
		"patch pods/cache-55b6657d8-* #1", "patch pods/cache-0 #1", "patch memcacheds/cache/status #1",
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the calls are (-want +got):\n%s", difference)
	}
	if f.Writes() != 5 {
		t.Errorf("%d of them are writes, want 5", f.Writes())
	}
}

func TestOnlyTheNamedRequestIsRefused(t *testing.T) {
	f := newFixture(t, nil)
	process := f.Process()
	second, err := inject.ParseCall("patch deployments/cache #2")
	if err != nil {
		t.Fatal(err)
	}
	reached := f.On(inject.Is(second), inject.Refuse(apierrors.NewTooManyRequests("busy", 7)))
	var codes []int
	for range 3 {
		response, err := f.ask(process, "PATCH", deployment)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, response.StatusCode)
		if response.StatusCode != http.StatusOK && response.Header.Get("Retry-After") != "7" {
			t.Errorf("the header is %v", response.Header)
		}
		_ = response.Body.Close()
	}
	if difference := cmp.Diff([]int{200, 429, 200}, codes); difference != "" || f.asked.Load() != 2 || reached() != 1 {
		t.Errorf("%s, %d requests arrived, %d were refused", difference, f.asked.Load(), reached())
	}
}

func TestALostAnswerHasBeenGiven(t *testing.T) {
	for name, c := range map[string]struct {
		action  inject.Action
		arrives int32
	}{"reset": {inject.Reset, 0}, "lost": {inject.LoseAnswer, 1}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.On(inject.Call.Writes, c.action)
			_, err := f.ask(f.Process(), "PATCH", deployment)
			if !errors.Is(err, syscall.ECONNRESET) || f.asked.Load() != c.arrives {
				t.Errorf("%v, and %d requests arrived", err, f.asked.Load())
			}
		})
	}
}

func TestAKilledProcessWritesNothing(t *testing.T) {
	f := newFixture(t, nil)
	killed, next := f.Process(), f.Process()
	f.On(inject.Call.Writes, inject.Before(killed.Kill))
	if _, err := f.ask(killed, "PATCH", deployment); err == nil || f.asked.Load() != 0 {
		t.Errorf("%v, and %d requests arrived", err, f.asked.Load())
	}
	if response, err := f.ask(next, "PATCH", deployment); err != nil || f.asked.Load() != 1 {
		t.Errorf("the next process: %v, and %d requests arrived", err, f.asked.Load())
	} else {
		_ = response.Body.Close()
	}
}

func TestAPausedProcessWritesLater(t *testing.T) {
	f := newFixture(t, nil)
	process := f.Process()
	process.Pause()
	answered := make(chan error, 1)
	go func() {
		response, err := f.ask(process, "PATCH", deployment)
		if err == nil {
			err = response.Body.Close()
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("it was answered while it was paused: %v", err)
	case <-time.After(50 * time.Millisecond): // It can only be too early.
	}
	process.Resume()
	if err := <-answered; err != nil || f.asked.Load() != 1 {
		t.Errorf("%v, and %d requests arrived", err, f.asked.Load())
	}
}

func TestAProcessThatIsKilledAfterOneWriteReadsAndIsRefusedUntilThen(t *testing.T) {
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusConflict)
		}
	})
	process := f.Process()
	process.Pause()
	process.ResumeForOneWrite()
	for _, method := range []string{"GET", "POST", "PATCH"} {
		response, err := f.ask(process, method, deployment)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		_ = response.Body.Close()
	}
	if _, err := f.ask(process, "PATCH", deployment); err == nil || f.asked.Load() != 3 {
		t.Errorf("%v, and %d requests arrived", err, f.asked.Load())
	}
}

func TestAGateHoldsBackEvents(t *testing.T) {
	next := make(chan string)
	f := newFixture(t, func(w http.ResponseWriter, _ *http.Request) {
		for event := range next {
			_, _ = io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	})
	gate := inject.NewGate()
	f.On(inject.Call.Streams, gate.Stream)
	go func() { next <- "a" }()
	response, err := f.ask(f.Process(), "GET", allPods+"?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read := make(chan string)
	go func() {
		defer close(read)
		for buffer := make([]byte, 10); ; {
			n, err := response.Body.Read(buffer)
			if err != nil {
				return
			}
			read <- string(buffer[:n])
		}
	}()
	if got := <-read; got != "a" {
		t.Errorf("the first event is %q", got)
	}
	gate.Close()
	next <- "b"
	select {
	case got := <-read:
		t.Fatalf("%q came through", got)
	case <-time.After(50 * time.Millisecond): // It can only be too early.
	}
	gate.Open()
	if got := <-read; got != "b" {
		t.Errorf("the second event is %q", got)
	}
	gate.Break()
	if got, more := <-read; more {
		t.Errorf("%q came through after the end", got)
	}
	close(next)
}

func TestAWatchShowsThePast(t *testing.T) {
	var query atomic.Value
	f := newFixture(t, func(_ http.ResponseWriter, r *http.Request) { query.Store(r.URL.RawQuery) })
	past := &inject.Past{}
	f.On(inject.Call.Streams, past.Watch(past.Again))
	for _, c := range []struct {
		shown, asked, arrives string
		code                  int
	}{
		{"", "resourceVersion=9&watch=true", "resourceVersion=9&watch=true", http.StatusOK},
		{"7", "resourceVersion=9&watch=true", "resourceVersion=7&watch=true", http.StatusOK},
		{"7", "sendInitialEvents=true&watch=true", "", http.StatusUnprocessableEntity}, // Then clients list.
	} {
		query.Store("")
		past.Show(c.shown)
		response, err := f.ask(f.Process(), "GET", allPods+"?"+c.asked)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if query.Load() != c.arrives || response.StatusCode != c.code {
			t.Errorf("%q: the query is %q, the status %d", c.asked, query.Load(), response.StatusCode)
		}
	}
}

func TestThePastIsListed(t *testing.T) {
	var query atomic.Value
	f := newFixture(t, func(_ http.ResponseWriter, r *http.Request) { query.Store(r.URL.RawQuery) })
	past := &inject.Past{}
	f.On(func(c inject.Call) bool { return c.Verb == "list" }, past.List)
	for revision, want := range map[string]string{"": "limit=500", "7": "limit=500&resourceVersion=7&resourceVersionMatch=Exact"} {
		past.Show(revision)
		response, err := f.ask(f.Process(), "GET", allPods+"?limit=500")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if query.Load() != want {
			t.Errorf("the query is %q, want %q", query.Load(), want)
		}
	}
}
