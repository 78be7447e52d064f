package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// All who may annotate a pod write this file. It asks for a whole number that memcached takes, or for nothing, or one line says why not.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"64", " 64\n", "", "7", "-1", "2147483648", "64Mi", "\x1b[2J", "6\x004", "+64", "0x40", "6_4"} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "memory")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		wanted, err := read(path)
		testkit.OneLine(t, err)
		if err != nil && (!errors.Is(err, errFile) || wanted != 0 || len(err.Error()) > len(path)+300) {
			t.Errorf("%q is %d, %v", text, wanted, err)
		}
		if err == nil && wanted != 0 && (wanted < minimum || wanted > 1<<31 || strings.TrimLeft(strings.TrimSpace(text), "+0") != strconv.FormatInt(wanted, 10)) {
			t.Errorf("%q asks for %d MiB", text, wanted)
		}
	})
}

// The memory that items may take is never reported as less than memcached's limit, nor than what one class has taken: the container's
// limit follows it.
func FuzzHeld(f *testing.F) {
	f.Add(int64(64<<20), "1", "5", "2", "60")
	f.Add(int64(64<<20), "1", "9223372036854775807", "2", "9223372036854775807")
	f.Add(int64(-1), "", "-9223372036854775808", ":", "x")
	f.Add(int64(-1), "", "-9223372036854775808", "0", "1")
	f.Fuzz(func(t *testing.T, limit int64, class, taken, other, others string) {
		if strings.ContainsFunc(class+other, unicode.IsControl) {
			return // Package memcached reads no such answer.
		}
		general := memcached.Stats{limitName: strconv.FormatInt(limit, 10)}
		slabs := memcached.Stats{class + ":total_pages": taken, other + ":total_pages": others, class + ":chunk_size": "96"}
		held, err := Held(general, slabs)
		testkit.OneLine(t, err)
		if err != nil {
			return
		}
		for name := range slabs {
			if count, err := slabs.Int(name); strings.HasSuffix(name, ":total_pages") && (err != nil || held < count || held < limit>>20) {
				t.Errorf("a limit of %d bytes and %v are %d MiB", limit, slabs, held)
			}
		}
	})
}
