package sizing_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// Each case is a real memcached, filled in the way that takes most memory, with all its connections in the middle of
// something. The highest resident set, and what the kernel holds for the sockets, must be within the limit.
func TestMemcachedStaysWithinTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills caches for half a minute")
	}
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		for name, request := range map[string]sizing.Request{
			"the released default":   {MemoryLimit: 128 * mib},
			"the smallest":           {MemoryLimit: 67 * mib},
			"many connections":       {MemoryLimit: 128 * mib, MaxConnections: 4000},
			"many threads":           {MemoryLimit: 96 * mib, Threads: 64},
			"large items":            {MemoryLimit: 128 * mib, MaxItemSize: 16 * mib, MaxConnections: 64},
			"warm restart":           {MemoryLimit: 128 * mib, WarmRestart: true},
			"warm restart, smallest": {MemoryLimit: 66 * mib, WarmRestart: true},
			"TLS":                    {MemoryLimit: 160 * mib, TLS: true},
			"TLS and a warm restart": {MemoryLimit: 96 * mib, TLS: true, WarmRestart: true, MaxConnections: 256},
		} {
			t.Run(name, func(t *testing.T) {
				arguments, err := sizing.Compute(request)
				if err != nil {
					t.Fatal(err)
				}
				s := startServer(t, run, request, arguments)
				s.fill()
				if request.WarmRestart {
					s.restart()
				}
				s.connect(int(arguments.MaxConnections))
				s.check(request.MemoryLimit, arguments)
			})
		}
	})
}

// fill stores the smallest items until the cache is full, then one item of every size, then the largest.
func (s *server) fill() {
	c := s.dial()
	defer func() { _ = c.Close() }()
	for first := 0; first < int(s.arguments.CacheMemory)*11000; first += 10000 {
		var batch strings.Builder
		for key := first; key < first+10000; key++ {
			fmt.Fprintf(&batch, "set %08x 0 0 0 noreply\r\n\r\n", key)
		}
		s.send(c, batch.String())
	}
	for size := 40; size < 500_000; size += size/20 + 1 {
		s.send(c, fmt.Sprintf("set size%d 0 0 %d noreply\r\n%s\r\n", size, size, strings.Repeat("x", size)))
	}
	for large := range 2 {
		size := int(s.arguments.MaxItemSize) - 1024
		s.send(c, fmt.Sprintf("set large%d 0 0 %d noreply\r\n%s\r\n", large, size, strings.Repeat("x", size)))
	}
	s.sync(c)
	s.grown()
}

// grown waits until the hash table has the size for all items: memcached makes it larger in the background.
func (s *server) grown() {
	for end := now().Add(time.Minute); ; {
		items, buckets := s.stat("curr_items"), 1<<s.stat("hash_power_level")
		if s.stat("hash_is_expanding") == 0 && items <= buckets/2*3 {
			return
		}
		if now().After(end) {
			s.t.Fatalf("the hash table for %d items has still %d buckets after a minute", items, buckets)
		}
	}
}

// connect opens connections until no more fit; each third is idle, in the middle of a command, and of a value.
func (s *server) connect(most int) {
	opened := 0
	for ; opened < most; opened++ {
		c, err := s.tryDial()
		if err != nil {
			break
		}
		s.t.Cleanup(func() { _ = c.Close() })
		switch opened % 3 {
		case 1:
			s.send(c, "get aaaa")
		case 2:
			s.send(c, fmt.Sprintf("set value%d 0 0 2000\r\nxxxx", opened))
		}
	}
	// memcached keeps some of -c for itself, and that of fill may linger; below that, the test would say nothing.
	if own := 12 + 5*int(s.arguments.Threads); opened < most-own {
		s.t.Fatalf("only %d of %d connections could be opened", opened, most)
	}
}

// restart stops memcached so that it saves its items, and starts it with them. Its table of items does not have to grow again then:
// memcached has hung when it did (https://github.com/memcached/memcached/issues/742).
func (s *server) restart() {
	before := s.stat("curr_items")
	s.Stop(syscall.SIGUSR1)
	s.RestartWarm(s.t)
	c, err := s.tryDial()
	if err != nil {
		s.t.Fatal(err)
	}
	_ = c.Close()
	if after := s.stat("curr_items"); after != before || after == 0 {
		s.t.Fatalf("%d items came back of %d", after, before)
	}
	if s.stat("hash_is_expanding") != 0 || s.stat("hash_power_level") != int(sizing.HashPower(s.arguments.CacheMemory)) {
		s.t.Errorf("the table of items has grown to 2^%d", s.stat("hash_power_level"))
	}
}

func (s *server) check(limit int64, arguments sizing.Result) {
	peak := s.peakKiB()
	// The resident set does not contain what the kernel keeps for a connection.
	used := peak + 4*int64(arguments.MaxConnections)
	s.t.Logf("-m %d -c %d -t %d: peak %d KiB, with sockets %d, needed %d, limit %d", arguments.CacheMemory,
		arguments.MaxConnections, arguments.Threads, peak, used, arguments.Need.Total(), limit/kib)
	if used > limit/kib {
		s.t.Errorf("memcached took %d KiB, the limit is %d", used, limit/kib)
	}
	if peak < arguments.CacheMemory*kib {
		s.t.Errorf("memcached took %d KiB, less than its items: it was not filled", peak)
	}
}

func (s *server) stat(name string) int {
	c := s.dial()
	defer func() { _ = c.Close() }()
	s.send(c, "stats\r\n")
	for _, line := range s.readUntil(c, "END") {
		if value, found := strings.CutPrefix(line, "STAT "+name+" "); found {
			number, err := strconv.Atoi(value)
			if err != nil {
				s.t.Fatal(err)
			}
			return number
		}
	}
	s.t.Fatalf("no %s in the stats", name)
	return 0
}

func (s *server) sync(c net.Conn) {
	s.send(c, "version\r\n")
	s.readUntil(c, "VERSION")
}
