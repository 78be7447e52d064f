package sizing

import (
	"fmt"
	"strings"

	"github.com/example/memcached-operator/operator/memcached/args"
)

// Error says why a request cannot be met, and how to mend it.
type Error struct {
	// Field of the spec that is to blame, for example "cacheMemory".
	Field string
	// Message is a sentence or two for the user, with the numbers.
	Message string
	// MemoryLimit is the least limit that would do, in bytes; 0 if no limit would.
	MemoryLimit int64
}

// Error returns the field and the message.
func (r *Error) Error() string { return "spec." + r.Field + ": " + r.Message }

func checkFields(r Request) *Error {
	switch {
	case r.MaxConnections < 1:
		return &Error{Field: "maxConnections",
			Message: fmt.Sprintf("%d is not a number of connections: choose 1 or more, or leave it out for %d", r.MaxConnections, args.DefaultMaxConnections)}
	case r.Threads < 1 || r.Threads > maxThreads:
		return &Error{Field: "threads",
			Message: fmt.Sprintf("%d threads are not possible: choose 1 to %d, or leave it out for %d", r.Threads, maxThreads, args.DefaultThreads)}
	case r.MaxConnections < leastConnections(r):
		return &Error{Field: "maxConnections",
			Message: fmt.Sprintf("of %d connections too few are left for clients, because memcached keeps %d and %d for each of its %d threads for itself: "+
				"choose at least %d, or fewer threads", r.MaxConnections, ownConnections, connectionsPerThread, r.Threads, leastConnections(r))}
	case r.CacheMemory < 0:
		return &Error{Field: "cacheMemory", Message: "a cache cannot hold less than nothing: leave it out to use what the memory limit leaves"}
	case r.MemoryLimit <= 0:
		return noLimit(r)
	}
	return checkItemSize(r)
}

func noLimit(r Request) *Error {
	refusal := &Error{Field: "resources.limits.memory", Message: "a memory limit is needed to size the cache"}
	if checkItemSize(r) == nil {
		least := limitFor(r, max(leastCacheMiB(r), r.CacheMemory/mib))
		refusal.MemoryLimit = least * mib
		refusal.Message += fmt.Sprintf(": set one of at least %dMi", least)
	}
	return refusal
}

func checkItemSize(r Request) *Error {
	const kib = 1024
	switch {
	case r.MaxItemSize < itemSizeStep || r.MaxItemSize > largestMaxItem:
		return &Error{Field: "maxItemSize",
			Message: fmt.Sprintf("memcached takes 512Ki to 1Gi, not %d bytes", r.MaxItemSize)}
	case r.MaxItemSize%itemSizeStep != 0:
		below := r.MaxItemSize / itemSizeStep * itemSizeStep
		return &Error{Field: "maxItemSize",
			Message: fmt.Sprintf("memcached takes multiples of 512Ki, and %d bytes are none: choose %dKi or %dKi",
				r.MaxItemSize, below/kib, (below+itemSizeStep)/kib)}
	}
	return nil
}

// limitTooSmall is for a limit that cannot hold even the smallest cache.
func limitTooSmall(r Request, least int64) *Error {
	limit := limitFor(r, least)
	return &Error{
		Field:       "resources.limits.memory",
		MemoryLimit: limit * mib,
		Message: fmt.Sprintf("%s cannot hold a cache of %dMi, the smallest possible %s: %s. Set at least %dMi%s",
			mebi(r.MemoryLimit/1024), least, whyLeast(r, least), breakdown(usage(r, least)), limit, fewerConnections(r, least)),
	}
}

// cacheTooSmall is for a cache that memcached would not start with.
func cacheTooSmall(r Request, least int64) *Error {
	return &Error{
		Field: "cacheMemory",
		Message: fmt.Sprintf("%d bytes are less than %dMi, the smallest possible %s: choose at least that, or leave it out",
			r.CacheMemory, least, whyLeast(r, least)),
	}
}

// cacheTooLarge is for a cache that is fine by itself, but not within this limit.
func cacheTooLarge(r Request, asked, largest int64) *Error {
	limit := limitFor(r, asked)
	mend := fmt.Sprintf("Set the memory limit to at least %dMi", limit)
	if largest >= leastCacheMiB(r) {
		mend += fmt.Sprintf(", or cacheMemory to at most %dMi, or leave it out", largest)
	}
	return &Error{
		Field:       "cacheMemory",
		MemoryLimit: limit * mib,
		Message: fmt.Sprintf("a cache of %dMi does not fit the memory limit of %s: %s. %s%s",
			asked, mebi(r.MemoryLimit/1024), breakdown(usage(r, asked)), mend, fewerConnections(r, asked)),
	}
}

// whyLeast names what makes the smallest cache as large as it is.
func whyLeast(r Request, least int64) string {
	switch {
	case least == 2*r.MaxItemSize/mib:
		return fmt.Sprintf("with maxItemSize %dKi (twice that)", r.MaxItemSize/1024)
	case r.WarmRestart:
		return "with warmRestart"
	}
	return "one"
}

// breakdown lists what takes the memory, in the order of Usage.
func breakdown(n Usage) string {
	parts := []struct {
		kib  int64
		name string
	}{
		{n.Items, "items"},
		{n.FirstPages, "the first page of each slab class"},
		{n.HashTable, "the hash table"},
		{n.Waste, "waste"},
		{n.Process, "memcached itself and its threads"},
		{n.Connections, "connections"},
	}
	var words []string
	for _, part := range parts {
		if part.kib != 0 {
			words = append(words, mebi(part.kib)+" for "+part.name)
		}
	}
	return "it takes " + mebi(n.Total()) + ", that is " + strings.Join(words, ", ")
}

// fewerConnections adds the other way out, if there is one: nothing but connections has to give way.
func fewerConnections(r Request, cache int64) string {
	one := r
	one.MaxConnections = 1
	each := usage(one, cache).Connections
	left := r.MemoryLimit/1024 - (usage(one, cache).Total() - each)
	if fit := left / each; fit >= int64(leastConnections(r)) {
		return fmt.Sprintf(", or maxConnections to at most %d", fit)
	}
	return ""
}

// mebi writes KiB as MiB with one decimal, rounded up, so that what is said to be needed is never too little.
func mebi(kib int64) string {
	tenths := (kib*10 + kibPerMiB - 1) / kibPerMiB
	if tenths%10 == 0 {
		return fmt.Sprintf("%dMi", tenths/10)
	}
	return fmt.Sprintf("%d.%dMi", tenths/10, tenths%10)
}
