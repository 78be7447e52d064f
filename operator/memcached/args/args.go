// Package args is memcached's command line: the type Arguments, Format to write it and Parse to read it, and memcached's own
// defaults. It knows nothing of caches: which arguments a cache gets is decided in desired/pod.
package args

import (
	"slices"
	"strconv"
	"strings"
)

// Port is the TCP port on which memcached listens (-p): memcached's own default.
const Port = 11211

// What memcached takes where an option is missing, in 1.6.18 to 1.6.45.
const (
	// DefaultCacheMemory is that of -m, in MiB.
	DefaultCacheMemory = 64

	// DefaultMaxConnections is that of -c.
	DefaultMaxConnections = 1024

	// DefaultMaxItemSize is that of -I, in bytes.
	DefaultMaxItemSize = 1 << 20

	// DefaultThreads is that of -t.
	DefaultThreads = 4

	hashPower           = "hashpower="
	defaultMinItemSpace = 48
	defaultGrowthFactor = "1.25"
)

// Arguments is a command line of memcached. Parse gives an option that is missing memcached's default.
type Arguments struct {
	// CacheMemory is -m, in MiB.
	CacheMemory int64
	// MaxConnections is -c.
	MaxConnections int32
	// MaxItemSize is -I, in bytes.
	MaxItemSize int64
	// Threads is -t.
	Threads int32
	// Port is -p.
	Port int32
	// MinItemSpace is -n, in bytes.
	MinItemSpace int32
	// GrowthFactor is -f.
	GrowthFactor string
	// NoCAS is -C.
	NoCAS bool
	// MemoryFile is -e, which turns warm restart on; empty without it.
	MemoryFile string
	// TLS is -Z.
	TLS bool
	// HashPower is -o hashpower: the table of items begins with 2^HashPower buckets. It is 0 without it.
	HashPower int32
	// AuthFile is -Y; empty without it.
	AuthFile string
	// SlabOptions are those of -o that lay out the memory, sorted.
	SlabOptions []string
	// TLSOptions are those of -o that begin with ssl_, sorted.
	TLSOptions []string
	// Other arguments, as they are.
	Other []string
}

// Default returns memcached's own defaults.
func Default() Arguments {
	return Arguments{
		CacheMemory:    DefaultCacheMemory,
		MaxConnections: DefaultMaxConnections,
		MaxItemSize:    DefaultMaxItemSize,
		Threads:        DefaultThreads,
		Port:           Port,
		MinItemSpace:   defaultMinItemSpace,
		GrowthFactor:   defaultGrowthFactor,
	}
}

// Format returns the words of the command line. Port, memory and connections are always there, because the first release
// wrote them; any other option only where it differs from memcached's default. An option and its value are two words:
// memcached exits on "-m=64". The text is part of pod templates, so the order never changes.
func (a Arguments) Format() []string {
	words := []string{"-p", number(a.Port), "-m", number(a.CacheMemory), "-c", number(a.MaxConnections)}
	for _, option := range []struct {
		given bool
		words []string
	}{
		{a.MaxItemSize != DefaultMaxItemSize, []string{"-I", number(a.MaxItemSize)}},
		{a.Threads != DefaultThreads, []string{"-t", number(a.Threads)}},
		{a.MinItemSpace != defaultMinItemSpace, []string{"-n", number(a.MinItemSpace)}},
		{a.GrowthFactor != defaultGrowthFactor, []string{"-f", a.GrowthFactor}},
		{a.NoCAS, []string{"-C"}},
		{a.MemoryFile != "", []string{"-e", a.MemoryFile}},
		{a.AuthFile != "", []string{"-Y", a.AuthFile}},
		{a.TLS, []string{"-Z"}},
		{len(a.TLSOptions) > 0, []string{"-o", strings.Join(a.TLSOptions, ",")}},
		{len(a.SlabOptions) > 0, []string{"-o", strings.Join(a.SlabOptions, ",")}},
		{a.HashPower != 0, []string{"-o", hashPower + number(a.HashPower)}},
	} {
		if option.given {
			words = append(words, option.words...)
		}
	}
	return append(words, a.Other...)
}

func number[T int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// SameLayout tells whether memcached started with b finds the items that memcached started with a left in its memory file.
func (a Arguments) SameLayout(b Arguments) bool {
	return a.CacheMemory == b.CacheMemory && a.MaxItemSize == b.MaxItemSize && a.MinItemSpace == b.MinItemSpace &&
		a.GrowthFactor == b.GrowthFactor && a.NoCAS == b.NoCAS && slices.Equal(a.SlabOptions, b.SlabOptions)
}
