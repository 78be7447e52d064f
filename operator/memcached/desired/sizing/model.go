package sizing

import "math/bits"

const (
	kibPerMiB = 1024
	mib       = 1 << 20

	processKiB   = 6 * kibPerMiB
	tlsKiB       = 5 * kibPerMiB
	threadKiB    = 128
	metadataKiB  = 1 * kibPerMiB
	socketKiB    = 4
	clientKiB    = 8
	tlsClientKiB = 76

	// slabClasses is the number of sizes that memcached sorts items into, each with pages of 1 MiB of its own. It is
	// the same for every -I that memcached accepts.
	slabClasses = 39

	// smallestItems is how many of the smallest items (96 bytes) fit on a page of 1 MiB.
	smallestItems = mib / 96

	// Each slab class holds 4/5 of the items that the class below holds on a page, so the first pages of all other classes hold as
	// many items as 4 pages of the smallest.
	otherFirstPages = 4

	// A hash table begins with 2^16 buckets of 8 bytes.
	firstBuckets = 1 << 16
	bucketBytes  = 8
)

// Usage is the memory that a full cache takes, by what takes it. Each is in KiB.
type Usage struct {
	// Items is memcached's -m.
	Items int64
	// FirstPages is what the slab classes may take beyond -m.
	FirstPages int64
	// HashTable is the index of the items at its largest, while it grows.
	HashTable int64
	// Waste is lost between pages, and taken by page tables.
	Waste int64
	// Process is memcached with its threads and libraries, and the metadata of a warm restart.
	Process int64
	// Connections is what all connections hold when each is in the middle of a request.
	Connections int64
}

// Total is the sum, in KiB.
func (n Usage) Total() int64 {
	return n.Items + n.FirstPages + n.HashTable + n.Waste + n.Process + n.Connections
}

// usage returns what a cache with this -m (in MiB) takes. It grows with cacheMiB, strictly.
func usage(r Request, cacheMiB int64) Usage {
	n := Usage{
		Items:       cacheMiB * kibPerMiB,
		HashTable:   hashTableKiB(mostItems(r, cacheMiB)),
		Waste:       (cacheMiB*kibPerMiB + 99) / 100,
		Process:     processKiB + threadKiB*int64(r.Threads),
		Connections: (clientKiB + socketKiB) * int64(r.MaxConnections),
	}
	if r.TLS {
		n.Process += tlsKiB
		n.Connections = (tlsClientKiB + socketKiB) * int64(r.MaxConnections)
	}
	if r.WarmRestart {
		n.Process += metadataKiB
	} else {
		n.FirstPages = (slabClasses - 1) * kibPerMiB
	}
	return n
}

// mostItems returns how many items a cache with this -m (in MiB) holds at most. Without warm restart the first pages of the classes come
// on top of -m, with their items.
func mostItems(r Request, cacheMiB int64) int64 {
	if r.WarmRestart {
		return cacheMiB * smallestItems
	}
	return (cacheMiB + otherFirstPages) * smallestItems
}

// NeedWith returns what a cache with r.CacheMemory takes when it is full, if its hash table already has that many bytes: memcached
// makes it larger, but never smaller.
func NeedWith(r Request, hashTable int64) Usage {
	n := usage(withDefaults(r), r.CacheMemory/mib)
	n.HashTable = max(n.HashTable, hashTable/1024)
	return n
}

// HashPower returns the base-2 logarithm of the number of buckets that the hash table has when a cache with warm restart and this -m (in
// MiB) is full of the smallest items. Need counts a table of that size.
func HashPower(cacheMiB int64) int32 {
	return int32(bits.Len64(uint64(buckets(cacheMiB*smallestItems))) - 1)
}

// hashTableKiB returns the largest size of the hash table on the way to that many items: that of the last table and the one before, half
// its size. The smallest cache holds enough items for a second table.
func hashTableKiB(items int64) int64 {
	return buckets(items) / 2 * 3 * bucketBytes / 1024
}

// buckets returns the number of buckets that the hash table has for that many items.
func buckets(items int64) int64 {
	buckets := int64(firstBuckets)
	for items > buckets/2*3 {
		buckets *= 2
	}
	return buckets
}
