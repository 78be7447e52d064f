package clients

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// within polls until the counts since the call satisfy enough.
func within(t *testing.T, l *Load, what string, enough func(Counts) bool) Counts {
	t.Helper()
	var sum Counts
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

func start(t *testing.T, servers ...Server) *Load {
	t.Helper()
	l := StartLoad(servers)
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
	_, a := server(t, "a")
	_, b := server(t, "b")
	l := start(t, a, b, NewWeb("c", web.URL))
	counts := within(t, l, "50 requests", func(c Counts) bool { return c.Requests >= 50 })
	if counts.Failed != 0 {
		t.Errorf("failed: %v", counts.Failures)
	}
	if counts.Slowest == 0 {
		t.Error("no round took any time")
	}
}

// counted is a server that counts the rounds with it.
type counted struct{ rounds atomic.Int64 }

func (*counted) Name() string                       { return "counted" }
func (c *counted) Ask(context.Context, func(error)) { c.rounds.Add(1) }
func (*counted) Close() error                       { return nil }

func TestEveryServerIsAskedOftenEnoughToNoticeAnOutage(t *testing.T) {
	for servers, every := range map[int]time.Duration{1: 50 * time.Millisecond, 2: 50 * time.Millisecond, 50: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			asked := make([]Server, servers)
			for i := range asked {
				asked[i] = new(counted)
			}
			l := StartLoad(asked)
			const duration = 10 * time.Second
			<-time.After(duration - time.Millisecond)
			synctest.Wait()
			for _, server := range asked {
				if got, want := server.(*counted).rounds.Load(), int64(duration/every); got != want {
					t.Errorf("of %d servers, one was asked %d times in %s, want %d", servers, got, duration, want)
				}
			}
			if err := l.Stop(); err != nil {
				t.Error(err)
			}
		})
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
	for name, make := range map[string]func(t *testing.T) (server Server, trouble func()){
		"the server is gone": func(t *testing.T) (Server, func()) {
			c, a := server(t, "a")
			return a, c.end
		},
		"the server has restarted": func(t *testing.T) (Server, func()) {
			c, a := server(t, "a")
			return a, c.disconnect
		},
		"the website answers that it cannot": func(t *testing.T) (Server, func()) {
			web, breakIt := website(t)
			return NewWeb("a", web.URL), breakIt
		},
		"the website is gone": func(t *testing.T) (Server, func()) {
			web, _ := website(t)
			return NewWeb("a", web.URL), web.Close
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, trouble := make(t)
			l := start(t, server)
			before := within(t, l, "requests", func(c Counts) bool { return c.Requests > 3 })
			if before.Failed > 0 {
				t.Errorf("failed before: %v", before.Failures)
			}
			trouble()
			after := within(t, l, "failure", func(c Counts) bool { return c.Failed > 0 })
			if len(after.Failures) == 0 || !strings.Contains(after.Failures[0], " a: ") {
				t.Errorf("Failures lacks it: %v", after.Failures)
			}
		})
	}
}

func TestItemsThatAreGoneAreMissing(t *testing.T) {
	c, client := server(t, "a")
	const items, size = 1_234, 20 // Of the last request for items, only a part is used.
	if err := client.Store(items, size); err != nil {
		t.Fatal(err)
	}
	if missing, err := client.Missing(items, size); missing != 0 || err != nil {
		t.Errorf("%d missing, %v", missing, err)
	}
	c.lose("stored-3", "stored-1233")
	c.set("stored-7", "another value")
	if missing, err := client.Missing(items, size); missing != 3 || err != nil {
		t.Errorf("after two were lost and one was changed: %d missing, %v", missing, err)
	}
	c.end()
	if missing, err := client.Missing(items, size); missing != items || err == nil {
		t.Errorf("of a server that is gone: %d missing, %v", missing, err)
	}
}

func TestTheOutcomeOfOneServerIsCounted(t *testing.T) {
	c, client := server(t, "a")
	for _, trouble := range []func(){func() {}, c.disconnect, c.end} {
		trouble()
		client.Ask(t.Context(), func(error) {})
	}
	got := client.Outcome()
	if got.Requests != 4 || len(got.Failed) != 2 || got.Failure == nil || got.Missed() < 0 {
		t.Errorf("counted %+v, want a write and a read, and two writes that failed", got)
	}
}

func TestFailuresOverlap(t *testing.T) {
	at := func(from, to int) Outcome {
		begin := time.Unix(1_000_000, 0)
		return Outcome{Failed: []time.Time{begin.Add(time.Duration(from) * time.Second), begin.Add(time.Duration(to) * time.Second)}}
	}
	for name, test := range map[string]struct {
		one, other Outcome
		want       bool
	}{
		"one after the other":     {at(0, 2), at(3, 5), false},
		"one within the other":    {at(0, 9), at(3, 5), true},
		"the end in the other":    {at(0, 4), at(3, 5), true},
		"one that never fails":    {at(0, 9), Outcome{Requests: 3}, false},
		"none that fails":         {Outcome{}, Outcome{}, false},
		"in the same two moments": {at(1, 2), at(1, 2), true},
	} {
		if test.one.Overlaps(test.other) != test.want || test.other.Overlaps(test.one) != test.want {
			t.Errorf("%s: want %t", name, test.want)
		}
	}
	if got := at(1, 4).Missed(); got != 3*time.Second {
		t.Errorf("missed for %s", got)
	}
}

func TestOutagesAreApartFromEachOther(t *testing.T) {
	start := time.Unix(1_000, 0)
	at := func(seconds ...int) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, start.Add(time.Duration(s)*time.Second))
		}
		return times
	}
	got := Outcome{Failed: at(1, 3, 5, 20, 40, 41)}.Outages()
	want := []Outage{{at(1)[0], at(5)[0]}, {at(20)[0], at(20)[0]}, {at(40)[0], at(41)[0]}}
	if !slices.Equal(got, want) {
		t.Errorf("the outages are %v, want %v", got, want)
	}
	for i, a := range got {
		for j, b := range got {
			if a.Overlaps(b) != (i == j) {
				t.Errorf("%v and %v overlap: %t", a, b, a.Overlaps(b))
			}
		}
	}
	if none := (Outcome{Requests: 9}).Outages(); len(none) > 0 {
		t.Errorf("without a failure the outages are %v", none)
	}
}
