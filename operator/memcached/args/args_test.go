package args_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/memcached/args"
)

func TestParseArguments(t *testing.T) {
	for name, c := range map[string]struct {
		arguments []string
		edit      func(*args.Arguments)
	}{
		"none: memcached's own defaults": {nil, func(*args.Arguments) {}},
		"memcached's own defaults, said": {
			[]string{"-p", "11211", "-m", "64", "-c", "1024", "-t", "4", "-I", "1m", "-n", "48", "-f", "1.25"}, func(*args.Arguments) {},
		},
		"each with a value": {
			[]string{"-p", "1", "-m", "2", "-c", "3", "-t", "4", "-I", "512k", "-n", "5", "-f", "1.5", "-e", "/cache/memory", "-Y", "/users/file"},
			func(a *args.Arguments) {
				*a = args.Arguments{Port: 1, CacheMemory: 2, MaxConnections: 3, Threads: 4, MaxItemSize: 512 << 10, MinItemSpace: 5,
					GrowthFactor: "1.5", MemoryFile: "/cache/memory", AuthFile: "/users/file"}
			},
		},
		"the value attached": {[]string{"-m100", "-I2097152"}, func(a *args.Arguments) { a.CacheMemory, a.MaxItemSize = 100, 2<<20 }},
		"the smallest and the largest size, and one character": {[]string{"-I", "0", "-m", "9223372036854775807", "-n", "2147483647"}, func(a *args.Arguments) {
			a.MaxItemSize, a.CacheMemory, a.MinItemSpace = 0, 9223372036854775807, 2147483647
		}},
		"the largest item size, in bytes": {[]string{"-I", "1099511627776"}, func(a *args.Arguments) { a.MaxItemSize = 1 << 40 }},
		"long names":                      {[]string{"--memory-limit=100", "--threads", "8"}, func(a *args.Arguments) { a.CacheMemory, a.Threads = 100, 8 }},
		"switches":                        {[]string{"-C", "--enable-ssl"}, func(a *args.Arguments) { a.NoCAS, a.TLS = true, true }},
		"extended options, sorted by what they are for": {
			[]string{"-o", "ssl_key=k,slab_chunk_max=16,modern,ssl_chain_cert=c", "-o", "no_slab_reassign"},
			func(a *args.Arguments) {
				a.SlabOptions = []string{"no_slab_reassign", "slab_chunk_max=16"}
				a.TLSOptions = []string{"ssl_chain_cert=c", "ssl_key=k"}
				a.Other = []string{"-o", "modern"}
			},
		},
		"the size of the hash table, the last one": {[]string{"-o", "hashpower=20", "-o", "modern,hashpower=22"}, func(a *args.Arguments) {
			a.HashPower, a.Other = 22, []string{"-o", "modern"}
		}},
		"options without a field": {
			[]string{"-v", "-vv", "-R100", "--disable-dumping", "-l", "0.0.0.0", "--from-the-future"},
			func(a *args.Arguments) {
				a.Other = []string{"-v", "-v", "-v", "-R", "100", "-X", "-l", "0.0.0.0", "--from-the-future"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := args.Arguments{CacheMemory: 64, MaxConnections: 1024, MaxItemSize: 1 << 20, Threads: 4, Port: 11211, MinItemSpace: 48, GrowthFactor: "1.25"}
			c.edit(&want)
			got, err := args.Parse(c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(want, got); difference != "" {
				t.Errorf("the arguments differ (-want +got):\n%s", difference)
			}
		})
	}
}

func TestParseArgumentsRefuses(t *testing.T) {
	for want, arguments := range map[string][]string{
		`memcached's argument -m: it has no value`: {"-c", "1", "-m"},
		`memcached's argument -I: it has no value`: {"--max-item-size="},
		`"64" is not an option of memcached: write each option and each value as a word of its own, and no value for an option that takes none`: {"-v", "64"},
		`memcached's argument -m: "=64" is not a whole number`:                                 {"-m=64"},
		`memcached's argument -c: "99999999999" is not a whole number, or too large`:           {"-c", "99999999999"},
		`memcached's argument -I: "1g" is not a size in bytes, nor one with k or m`:            {"-I", "1g"},
		`memcached's argument -c: "2147483648" is not a whole number, or too large`:            {"-c", "2147483648"},
		`memcached's argument -I: "1099511627777" is not a size in bytes, nor one with k or m`: {"-I", "1099511627777"},
		`memcached's argument -I: "-1" is not a size in bytes, nor one with k or m`:            {"-I", "-1"},
		`memcached's argument -I: "k" is not a size in bytes, nor one with k or m`:             {"-I", "k"},
		`memcached's argument -t: "four" is not a whole number, or too large`:                  {"--threads=four"},
		`memcached's argument -o: "large" is not a whole number, or too large`:                 {"-o", "hashpower=large"},
	} {
		if got, err := args.Parse(arguments); err == nil || err.Error() != want {
			t.Errorf("%q gives %+v and %v, want %s", arguments, got, err, want)
		}
	}
}

// What Format writes, Parse reads, whatever the arguments are.
func TestParseReadsWhatFormatWrites(t *testing.T) {
	for range 1000 {
		want := randomArguments()
		got, err := args.Parse(want.Format())
		if difference := cmp.Diff(want, got); difference != "" || err != nil {
			t.Fatalf("%q is read as something else: %v (-want +got):\n%s", want.Format(), err, difference)
		}
	}
}

func randomArguments() args.Arguments {
	a := args.Default()
	for _, change := range []func(){
		func() { a.CacheMemory, a.Port = rand.Int64N(1<<20), rand.Int32N(1<<16) },
		func() { a.MaxConnections, a.Threads = rand.Int32N(1<<20), rand.Int32N(64) },
		func() { a.MaxItemSize, a.MinItemSpace = rand.Int64N(1<<30), rand.Int32N(1<<10) },
		func() { a.GrowthFactor, a.NoCAS = "1.5", true },
		func() { a.MemoryFile, a.AuthFile = "/cache/memory", "/users/file" },
		func() { a.TLS, a.TLSOptions = true, []string{"ssl_chain_cert=c", "ssl_key=k"} },
		func() { a.SlabOptions = []string{"no_slab_reassign", "slab_chunk_max=16"} },
		func() { a.HashPower = 1 + rand.Int32N(31) },
		func() { a.Other = []string{"-v", "-R", "100", "-o", "modern"} },
	} {
		if rand.IntN(2) == 0 {
			change()
		}
	}
	return a
}

// The order is part of released pod templates.
func TestFormatKeepsTheOrderOfReleases(t *testing.T) {
	a := args.Default()
	a.CacheMemory, a.MaxConnections, a.MaxItemSize, a.Threads = 100, 2000, 2<<20, 8
	a.MemoryFile, a.AuthFile, a.TLS, a.TLSOptions = "/cache/memory", "/users/file", true, []string{"ssl_key=k", "ssl_ca_cert=c"}
	want := []string{"-p", "11211", "-m", "100", "-c", "2000", "-I", "2097152", "-t", "8", "-e", "/cache/memory", "-Y", "/users/file",
		"-Z", "-o", "ssl_key=k,ssl_ca_cert=c"}
	if difference := cmp.Diff(want, a.Format()); difference != "" {
		t.Errorf("the command line differs (-want +got):\n%s", difference)
	}
}

// With another layout, memcached starts empty although its memory file is there. Everything else may change and keep the items.
func TestWhatDecidesOnTheLayout(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*args.Arguments)
		same bool
	}{
		"nothing":              {func(*args.Arguments) {}, true},
		"the memory":           {func(a *args.Arguments) { a.CacheMemory++ }, false},
		"the largest item":     {func(a *args.Arguments) { a.MaxItemSize++ }, false},
		"the smallest item":    {func(a *args.Arguments) { a.MinItemSpace++ }, false},
		"the growth":           {func(a *args.Arguments) { a.GrowthFactor = "2" }, false},
		"items without CAS":    {func(a *args.Arguments) { a.NoCAS = true }, false},
		"another slab option":  {func(a *args.Arguments) { a.SlabOptions = []string{"slab_chunk_max=16"} }, false},
		"connections, threads": {func(a *args.Arguments) { a.MaxConnections, a.Threads, a.HashPower = 1, 2, 22 }, true},
		"TLS and users":        {func(a *args.Arguments) { a.TLS, a.TLSOptions, a.AuthFile = true, []string{"ssl_key=k"}, "/users/file" }, true},
		"the port":             {func(a *args.Arguments) { a.Port++ }, true},
		"others":               {func(a *args.Arguments) { a.Other = []string{"-v"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := args.Default(), args.Default()
			before.SlabOptions, after.SlabOptions = []string{"no_slab_reassign"}, []string{"no_slab_reassign"}
			c.edit(&after)
			if got := before.SameLayout(after); got != c.same {
				t.Errorf("memcached finds the items: %t, want %t", got, c.same)
			}
		})
	}
}
