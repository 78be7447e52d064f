package sizing_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/example/memcached-operator/hack/seed"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// anyRequest returns a request with a limit between 1 MiB and 256 GiB, half of them small, and enough connections for its
// threads.
func anyRequest(random *rand.Rand) sizing.Request {
	limit := random.Int64N(256 * gib)
	if random.IntN(2) == 0 {
		limit = random.Int64N(512 * mib)
	}
	threads := random.Int32N(65)
	return sizing.Request{
		MemoryLimit:    limit + mib,
		MaxConnections: 42 + 5*max(threads, args.DefaultThreads) + random.Int32N(20000),
		MaxItemSize:    random.Int64N(8) * 512 * kib,
		Threads:        threads,
		WarmRestart:    random.IntN(2) == 0,
		TLS:            random.IntN(2) == 0,
	}
}

// everyRequest calls check with many requests, others in each run.
func everyRequest(t *testing.T, check func(*testing.T, *rand.Rand, sizing.Request)) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed.New(t), 2))
	for range 20000 {
		check(t, random, anyRequest(random))
	}
}

func TestWhatIsArrangedFits(t *testing.T) {
	everyRequest(t, func(t *testing.T, random *rand.Rand, r sizing.Request) {
		got, err := sizing.Compute(r)
		if err != nil {
			return
		}
		if got.Need.Total()*kib > r.MemoryLimit {
			t.Fatalf("%+v needs %d KiB", r, got.Need.Total())
		}
		if 2*got.MaxItemSize > got.CacheMemory*mib {
			t.Fatalf("%+v gives -m %d, which memcached does not start with", r, got.CacheMemory)
		}
		// The largest that fits may be asked for, and not a MiB more.
		r.CacheMemory = got.CacheMemory * mib
		if asked, err := sizing.Compute(r); err != nil || asked != got {
			t.Fatalf("%+v gives %+v and %v, derived was %+v", r, asked, err, got)
		}
		r.CacheMemory += mib
		if asked, err := sizing.Compute(r); err == nil {
			t.Fatalf("%+v gives %+v, but derived was only %d", r, asked, got.CacheMemory)
		}
	})
}

func TestMoreLimitIsNeverLessCache(t *testing.T) {
	everyRequest(t, func(t *testing.T, random *rand.Rand, r sizing.Request) {
		less, err := sizing.Compute(r)
		if err != nil {
			return
		}
		r.MemoryLimit += random.Int64N(64 * mib)
		more, err := sizing.Compute(r)
		if err != nil || more.CacheMemory < less.CacheMemory {
			t.Fatalf("%+v gives %d and %v, with a smaller limit it was %d", r, more.CacheMemory, err, less.CacheMemory)
		}
	})
}

func TestMoreOfAnythingElseIsNeverMoreCache(t *testing.T) {
	for name, grow := range map[string]func(*sizing.Request){
		"connections": func(r *sizing.Request) { r.MaxConnections = max(r.MaxConnections, 1024) + 100 },
		"threads":     func(r *sizing.Request) { r.Threads = 64 },
		"TLS":         func(r *sizing.Request) { r.TLS = true },
	} {
		t.Run(name, func(t *testing.T) {
			everyRequest(t, func(t *testing.T, random *rand.Rand, r sizing.Request) {
				before := r
				grow(&r)
				more, err := sizing.Compute(r)
				if err != nil {
					return
				}
				if less, err := sizing.Compute(before); err != nil || less.CacheMemory < more.CacheMemory {
					t.Fatalf("%+v gives %d and %v, %+v gives %d", before, less.CacheMemory, err, r, more.CacheMemory)
				}
			})
		})
	}
}

// A user who does what the message says must not meet another refusal.
func TestTheLimitOfARefusalIsTheLeastThatDoes(t *testing.T) {
	refused := 0
	everyRequest(t, func(t *testing.T, random *rand.Rand, r sizing.Request) {
		if random.IntN(2) == 0 {
			r.CacheMemory = random.Int64N(2 * r.MemoryLimit)
		}
		_, err := sizing.Compute(r)
		var refusal *sizing.Error
		if !errors.As(err, &refusal) || refusal.MemoryLimit == 0 {
			return
		}
		refused++
		r.MemoryLimit = refusal.MemoryLimit
		if _, err := sizing.Compute(r); err != nil {
			t.Fatalf("%+v is refused, though an earlier refusal named its limit: %v", r, err)
		}
		r.MemoryLimit -= mib
		if got, err := sizing.Compute(r); err == nil {
			t.Fatalf("%+v gives %+v, though the refusal named a larger limit", r, got)
		}
	})
	if refused < 1000 {
		t.Errorf("only %d requests were refused for their limit: the test says little", refused)
	}
}
