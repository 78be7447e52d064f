package sizing

import (
	"cmp"
	"sort"

	"github.com/example/memcached-operator/operator/memcached/args"
)

const (
	// minCacheMiB is the least that memcached's cache_memlimit accepts, so a smaller cache could never be resized.
	minCacheMiB = 8

	// itemSizeStep is memcached's slab_chunk_max: it ends at once when -I is no multiple of it.
	itemSizeStep   = 512 * 1024
	largestMaxItem = 1024 * mib

	// memcached keeps 9 of its connections for itself, and 5 for each thread (1.6.45; 1.6.18 keeps 4). With less than that
	// memcached exits; with exactly that, no client gets in.
	ownConnections       = 9
	connectionsPerThread = 5

	// leastClients is how many connections clients need at least: a probe, the agent and a client or two of each kind.
	leastClients = 32

	// maxThreads is where memcached begins to warn.
	maxThreads = 64
)

// Request is what a user asks for.
type Request struct {
	// MemoryLimit of the container that runs memcached, in bytes.
	MemoryLimit int64
	// CacheMemory is the memory for items, in bytes; a part of a MiB is not used. 0 takes what the limit leaves.
	CacheMemory int64
	// MaxConnections at a time. 0 means args.DefaultMaxConnections.
	MaxConnections int32
	// MaxItemSize is the largest item with its key, in bytes: a multiple of 512 KiB up to 1 GiB, and at most half of the
	// cache. 0 means args.DefaultMaxItemSize.
	MaxItemSize int64
	// Threads that answer requests, 1 to 64. 0 means args.DefaultThreads.
	Threads int32
	// Given is the -m that the pods have, in MiB; 0 for new pods. It is kept if it is larger than what fits: another version of the
	// operator may have computed it, and a smaller -m evicts items.
	Given int64
	// WarmRestart keeps the items in a file in memory (-e).
	WarmRestart bool
	// TLS is on for the clients' connections.
	TLS bool
}

// Result are memcached's, and fit the limit of the Request that they were made from.
type Result struct {
	// CacheMemory is -m, in MiB.
	CacheMemory int64
	// MaxConnections is -c.
	MaxConnections int32
	// MaxItemSize is -I, in bytes.
	MaxItemSize int64
	// Threads is -t.
	Threads int32
	// VolumeSize is what the volume of a warm restart has to hold, in bytes: the file and its metadata. 0 without one.
	VolumeSize int64
	// Need is how the memory limit is used when the cache is full.
	Need Usage
}

// Compute returns memcached's arguments for a request. The error is an *Error.
func Compute(r Request) (Result, error) {
	r = withDefaults(r)
	if refusal := checkFields(r); refusal != nil {
		return Result{}, refusal
	}
	cache, refusal := cacheMiB(r)
	if refusal != nil {
		return Result{}, refusal
	}
	arguments := Result{
		CacheMemory:    cache,
		MaxConnections: r.MaxConnections,
		MaxItemSize:    r.MaxItemSize,
		Threads:        r.Threads,
		Need:           usage(r, cache),
	}
	if r.WarmRestart {
		arguments.VolumeSize = (cache*kibPerMiB + metadataKiB) * 1024
	}
	return arguments, nil
}

// SameBut reports whether two requests ask for the same, but for the memory: what is left out is the default.
func (r Request) SameBut(other Request) bool {
	r, other = withDefaults(r), withDefaults(other)
	r.MemoryLimit, r.CacheMemory, r.Given = other.MemoryLimit, other.CacheMemory, other.Given
	return r == other
}

func withDefaults(r Request) Request {
	r.MaxConnections = cmp.Or(r.MaxConnections, args.DefaultMaxConnections)
	r.MaxItemSize = cmp.Or(r.MaxItemSize, args.DefaultMaxItemSize)
	r.Threads = cmp.Or(r.Threads, args.DefaultThreads)
	return r
}

// leastConnections returns the smallest -c that leaves room for clients.
func leastConnections(r Request) int32 {
	return ownConnections + connectionsPerThread*r.Threads + leastClients
}

// cacheMiB returns -m: the one asked for, or the largest that fits or is given.
func cacheMiB(r Request) (int64, *Error) {
	least, largest := leastCacheMiB(r), max(r.Given, largestCacheMiB(r))
	if r.CacheMemory == 0 {
		if largest < least {
			return 0, limitTooSmall(r, least)
		}
		return largest, nil
	}
	asked := r.CacheMemory / mib
	switch {
	case asked < least:
		return 0, cacheTooSmall(r, least)
	case asked > largest:
		return 0, cacheTooLarge(r, asked, largest)
	}
	return asked, nil
}

// leastCacheMiB returns the smallest -m that memcached starts with.
func leastCacheMiB(r Request) int64 {
	least := max(minCacheMiB, 2*r.MaxItemSize/mib)
	if r.WarmRestart {
		least = max(least, slabClasses)
	}
	return least
}

// largestCacheMiB returns the largest -m that fits the limit, not a positive one if none does.
func largestCacheMiB(r Request) int64 {
	limit := r.MemoryLimit / 1024
	tooLarge := sort.Search(int(limit/kibPerMiB), func(cache int) bool {
		return usage(r, int64(cache)).Total() > limit
	})
	return int64(tooLarge) - 1
}

// limitFor returns the least memory limit, in whole MiB, that holds a cache of that size.
func limitFor(r Request, cache int64) int64 {
	return (usage(r, cache).Total() + kibPerMiB - 1) / kibPerMiB
}
