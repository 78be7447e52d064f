package sizing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

func TestArrange(t *testing.T) {
	for name, c := range map[string]struct {
		request sizing.Request
		want    sizing.Result
	}{
		"the released default, derived": {
			sizing.Request{MemoryLimit: 128 * mib},
			sizing.Result{CacheMemory: 64, MaxConnections: 1024, MaxItemSize: mib, Threads: 4},
		},
		"the released default, asked for": {
			sizing.Request{MemoryLimit: 128 * mib, CacheMemory: 64 * mib, MaxConnections: 1024, MaxItemSize: mib, Threads: 4},
			sizing.Result{CacheMemory: 64, MaxConnections: 1024, MaxItemSize: mib, Threads: 4},
		},
		"less than fits, as asked, and whole MiB": {
			sizing.Request{MemoryLimit: 128 * mib, CacheMemory: 20*mib + mib/2},
			sizing.Result{CacheMemory: 20, MaxConnections: 1024, MaxItemSize: mib, Threads: 4},
		},
		"few connections leave more for items": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 64},
			sizing.Result{CacheMemory: 70, MaxConnections: 64, MaxItemSize: mib, Threads: 4},
		},
		"what the pods have, where the limit leaves less": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 64, Given: 72},
			sizing.Result{CacheMemory: 72, MaxConnections: 64, MaxItemSize: mib, Threads: 4},
		},
		"what the pods have, asked for": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 64, CacheMemory: 72 * mib, Given: 72},
			sizing.Result{CacheMemory: 72, MaxConnections: 64, MaxItemSize: mib, Threads: 4},
		},
		"more than the pods have": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 64, Given: 60},
			sizing.Result{CacheMemory: 70, MaxConnections: 64, MaxItemSize: mib, Threads: 4},
		},
		"many threads leave less": {
			sizing.Request{MemoryLimit: 128 * mib, Threads: 64},
			sizing.Result{CacheMemory: 57, MaxConnections: 1024, MaxItemSize: mib, Threads: 64},
		},
		"TLS takes its share": {
			sizing.Request{MemoryLimit: 256 * mib, TLS: true},
			sizing.Result{CacheMemory: 113, MaxConnections: 1024, MaxItemSize: mib, Threads: 4},
		},
		"a warm restart has no pages beyond -m, and a file": {
			sizing.Request{MemoryLimit: 128 * mib, WarmRestart: true},
			sizing.Result{CacheMemory: 95, MaxConnections: 1024, MaxItemSize: mib, Threads: 4, VolumeSize: 96 * mib},
		},
		"as few connections as clients need, and one thread": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 46, Threads: 1},
			sizing.Result{CacheMemory: 70, MaxConnections: 46, MaxItemSize: mib, Threads: 1},
		},
		"the smallest items": {
			sizing.Request{MemoryLimit: 128 * mib, MaxItemSize: 512 * kib},
			sizing.Result{CacheMemory: 64, MaxConnections: 1024, MaxItemSize: 512 * kib, Threads: 4},
		},
		"the largest items": {
			sizing.Request{MemoryLimit: 4 * gib, MaxItemSize: gib},
			sizing.Result{CacheMemory: 3619, MaxConnections: 1024, MaxItemSize: gib, Threads: 4},
		},
		"large items": {
			sizing.Request{MemoryLimit: 256 * mib, MaxItemSize: 64 * mib},
			sizing.Result{CacheMemory: 173, MaxConnections: 1024, MaxItemSize: 64 * mib, Threads: 4},
		},
		"a large cache": {
			sizing.Request{MemoryLimit: 64 * gib, MaxConnections: 50000, Threads: 16},
			sizing.Result{CacheMemory: 58178, MaxConnections: 50000, MaxItemSize: mib, Threads: 16},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sizing.Compute(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(c.want, got, cmpopts.IgnoreFields(sizing.Result{}, "Need")); difference != "" {
				t.Errorf("the arguments differ (-want +got):\n%s", difference)
			}
			if got.Need.Total() > c.request.MemoryLimit/kib && got.CacheMemory != c.request.Given {
				t.Errorf("it needs %d KiB of %d", got.Need.Total(), c.request.MemoryLimit/kib)
			}
		})
	}
}

func TestNeedOfTheReleasedDefault(t *testing.T) {
	got, err := sizing.Compute(sizing.Request{MemoryLimit: 128 * mib})
	if err != nil {
		t.Fatal(err)
	}
	want := sizing.Usage{Items: 64 * kib, FirstPages: 38 * kib, HashTable: 6 * kib, Waste: 656, Process: 6*kib + 512, Connections: 12 * kib}
	if difference := cmp.Diff(want, got.Need); difference != "" {
		t.Errorf("the need differs (-want +got):\n%s", difference)
	}
}

func TestTheHashTable(t *testing.T) {
	for cache, want := range map[int64]int32{8: 16, 9: 16, 10: 17, 64: 19, 1152: 23, 1153: 24} {
		if got := sizing.HashPower(cache); got != want {
			t.Errorf("the table for a cache of %dMi with warm restart has 2^%d buckets, want 2^%d", cache, got, want)
		}
	}
	for name, test := range map[string]struct{ cache, table, want int64 }{
		"an empty table grows":                    {1148 * mib, 0, 96 * kib},
		"as many pages beyond the cache as items": {1149 * mib, 0, 192 * kib},
		"a table that was larger":                 {64 * mib, 64 * mib, 64 * kib},
		"a table that is smaller":                 {64 * mib, 2 * mib, 6 * kib},
	} {
		need := sizing.NeedWith(sizing.Request{CacheMemory: test.cache}, test.table)
		if need.HashTable != test.want || need.Items != test.cache/kib || need.Connections != 12*kib {
			t.Errorf("%s: it needs %+v, want %d KiB for the table", name, need, test.want)
		}
	}
}

func TestRequestsForTheSameButForTheMemory(t *testing.T) {
	request := sizing.Request{MemoryLimit: 128 * mib, CacheMemory: 64 * mib}
	for name, test := range map[string]struct {
		other sizing.Request
		want  bool
	}{
		"more memory":              {sizing.Request{MemoryLimit: 256 * mib, CacheMemory: 100 * mib, Given: 64}, true},
		"the defaults written out": {sizing.Request{MaxConnections: 1024, MaxItemSize: mib, Threads: 4}, true},
		"another item size":        {sizing.Request{MaxItemSize: 2 * mib}, false},
		"warm restart":             {sizing.Request{WarmRestart: true}, false},
	} {
		if got := request.SameBut(test.other); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		request sizing.Request
		message string
		limit   int64
	}{
		"no limit": {
			sizing.Request{},
			"spec.resources.limits.memory: a memory limit is needed to size the cache: set one of at least 67Mi", 67 * mib,
		},
		"no limit, and a cache": {
			sizing.Request{CacheMemory: 100 * mib},
			"spec.resources.limits.memory: a memory limit is needed to size the cache: set one of at least 170Mi", 170 * mib,
		},
		"no limit, and an item size that memcached refuses": {
			sizing.Request{MaxItemSize: 64 * kib}, "spec.resources.limits.memory: a memory limit is needed to size the cache", 0,
		},
		"a limit below many connections": {
			sizing.Request{MemoryLimit: 512 * mib, MaxConnections: 50000},
			"spec.resources.limits.memory: 512Mi cannot hold a cache of 8Mi, the smallest possible one: it takes 640.1Mi, that is " +
				"8Mi for items, 38Mi for the first page of each slab class, 1.5Mi for the hash table, 0.1Mi for waste, " +
				"6.5Mi for memcached itself and its threads, 586Mi for connections. Set at least 641Mi, or maxConnections to at most 39075",
			641 * mib,
		},
		"a limit that holds as many connections as clients need": {
			sizing.Request{MemoryLimit: 56110 * kib},
			"spec.resources.limits.memory: 54.8Mi cannot hold a cache of 8Mi, the smallest possible one: it takes 66.1Mi, that is " +
				"8Mi for items, 38Mi for the first page of each slab class, 1.5Mi for the hash table, 0.1Mi for waste, " +
				"6.5Mi for memcached itself and its threads, 12Mi for connections. Set at least 67Mi, or maxConnections to at most 61",
			67 * mib,
		},
		"a cache beyond a limit for the smallest one": {
			sizing.Request{MemoryLimit: 67 * mib, CacheMemory: 9 * mib},
			"spec.cacheMemory: a cache of 9Mi does not fit the memory limit of 67Mi: it takes 67.1Mi, that is " +
				"9Mi for items, 38Mi for the first page of each slab class, 1.5Mi for the hash table, 0.1Mi for waste, " +
				"6.5Mi for memcached itself and its threads, 12Mi for connections. Set the memory limit to at least 68Mi, " +
				"or cacheMemory to at most 8Mi, or leave it out, or maxConnections to at most 1016",
			68 * mib,
		},
		"a limit below the overhead": {
			sizing.Request{MemoryLimit: 64 * mib},
			"spec.resources.limits.memory: 64Mi cannot hold a cache of 8Mi, the smallest possible one: it takes 66.1Mi, that is " +
				"8Mi for items, 38Mi for the first page of each slab class, 1.5Mi for the hash table, 0.1Mi for waste, " +
				"6.5Mi for memcached itself and its threads, 12Mi for connections. Set at least 67Mi, or maxConnections to at most 846",
			67 * mib,
		},
		"a limit below any cache": {
			sizing.Request{MemoryLimit: 16 * mib},
			"spec.resources.limits.memory: 16Mi cannot hold a cache of 8Mi, the smallest possible one: it takes 66.1Mi, that is " +
				"8Mi for items, 38Mi for the first page of each slab class, 1.5Mi for the hash table, 0.1Mi for waste, " +
				"6.5Mi for memcached itself and its threads, 12Mi for connections. Set at least 67Mi",
			67 * mib,
		},
		"a limit below the file of a warm restart": {
			sizing.Request{MemoryLimit: 48 * mib, WarmRestart: true},
			"spec.resources.limits.memory: 48Mi cannot hold a cache of 39Mi, the smallest possible with warmRestart: it takes 64.9Mi, that is " +
				"39Mi for items, 6Mi for the hash table, 0.4Mi for waste, 7.5Mi for memcached itself and its threads, " +
				"12Mi for connections. Set at least 65Mi",
			65 * mib,
		},
		"a cache beyond the limit": {
			sizing.Request{MemoryLimit: 128 * mib, CacheMemory: 100 * mib},
			"spec.cacheMemory: a cache of 100Mi does not fit the memory limit of 128Mi: it takes 169.5Mi, that is " +
				"100Mi for items, 38Mi for the first page of each slab class, 12Mi for the hash table, 1Mi for waste, " +
				"6.5Mi for memcached itself and its threads, 12Mi for connections. Set the memory limit to at least 170Mi, " +
				"or cacheMemory to at most 64Mi, or leave it out",
			170 * mib,
		},
		"a cache that memcached does not start with": {
			sizing.Request{MemoryLimit: 128 * mib, CacheMemory: 4 * mib},
			"spec.cacheMemory: 4194304 bytes are less than 8Mi, the smallest possible one: choose at least that, or leave it out", 0,
		},
		"a cache that cannot hold two of the largest items": {
			sizing.Request{MemoryLimit: 256 * mib, CacheMemory: 100 * mib, MaxItemSize: 64 * mib},
			"spec.cacheMemory: 104857600 bytes are less than 128Mi, the smallest possible with maxItemSize 65536Ki (twice that): " +
				"choose at least that, or leave it out", 0,
		},
		"an item size that memcached refuses": {
			sizing.Request{MemoryLimit: 128 * mib, MaxItemSize: 1500 * kib},
			"spec.maxItemSize: memcached takes multiples of 512Ki, and 1536000 bytes are none: choose 1024Ki or 1536Ki", 0,
		},
		"an item size that is too small": {
			sizing.Request{MemoryLimit: 128 * mib, MaxItemSize: 64 * kib},
			"spec.maxItemSize: memcached takes 512Ki to 1Gi, not 65536 bytes", 0,
		},
		"an item size that is too large": {
			sizing.Request{MemoryLimit: 128 * gib, MaxItemSize: gib + 512*kib},
			"spec.maxItemSize: memcached takes 512Ki to 1Gi, not 1074266112 bytes", 0,
		},
		"too many threads": {
			sizing.Request{MemoryLimit: 128 * mib, Threads: 65},
			"spec.threads: 65 threads are not possible: choose 1 to 64, or leave it out for 4", 0,
		},
		"a negative number of connections": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: -1},
			"spec.maxConnections: -1 is not a number of connections: choose 1 or more, or leave it out for 1024", 0,
		},
		"one connection": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 1},
			"spec.maxConnections: of 1 connections too few are left for clients, because memcached keeps 9 and 5 for each of its 4 threads " +
				"for itself: choose at least 61, or fewer threads", 0,
		},
		"too few connections for clients": {
			sizing.Request{MemoryLimit: 128 * mib, MaxConnections: 100, Threads: 32},
			"spec.maxConnections: of 100 connections too few are left for clients, because memcached keeps 9 and 5 for each of its 32 threads " +
				"for itself: choose at least 201, or fewer threads", 0,
		},
		"a negative cache": {
			sizing.Request{MemoryLimit: 128 * mib, CacheMemory: -1},
			"spec.cacheMemory: a cache cannot hold less than nothing: leave it out to use what the memory limit leaves", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sizing.Compute(c.request)
			var refusal *sizing.Error
			if !errors.As(err, &refusal) {
				t.Fatalf("got %+v and %v, want a refusal", got, err)
			}
			if difference := cmp.Diff(strings.Split(c.message, " "), strings.Split(refusal.Error(), " ")); difference != "" {
				t.Errorf("the message differs (-want +got):\n%s\n%s", difference, refusal)
			}
			if refusal.MemoryLimit != c.limit {
				t.Errorf("the limit that would do is %d, want %d", refusal.MemoryLimit, c.limit)
			}
		})
	}
}
