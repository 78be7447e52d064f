package memcached_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

func TestOnlyTheOneProcessIsFound(t *testing.T) {
	type entry struct{ id, name, state string }
	wanted := entry{"7", "memcached", "S"}
	for name, test := range map[string]struct {
		name    string
		entries []entry
		want    int
		says    string
	}{
		"the one":                    {name: "memcached", entries: []entry{{"1", "pause", "S"}, wanted}, want: 7},
		"with a long name":           {name: "memcached-of-another-kind", entries: []entry{{"7", "memcached-of-an", "R"}}, want: 7},
		"not one whose name goes on": {name: "memcached", entries: []entry{{"7", "memcached2", "S"}}, says: "shareProcessNamespace"},
		"not one that has ended":     {name: "memcached", entries: []entry{{"6", "memcached", "Z"}, wanted}, want: 7},
		"not what is no process":     {name: "memcached", entries: []entry{{"self", "memcached", "S"}, wanted}, want: 7},
		"not itself":                 {name: "memcached", entries: []entry{{fmt.Sprint(os.Getpid()), "memcached", "S"}, wanted}, want: 7},
		"not two":                    {name: "memcached", entries: []entry{wanted, {"8", "memcached", "S"}}, says: `2 processes are named "memcached", expected exactly one`},
		"not any":                    {name: "memcached", says: `no process is named "memcached"`},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for _, entry := range test.entries {
				if err := os.MkdirAll(filepath.Join(directory, entry.id), 0o700); err != nil {
					t.Fatal(err)
				}
				stat := fmt.Sprintf("%s (%s) %s%s\n", entry.id, entry.name, entry.state, strings.Repeat(" 0", 49))
				if err := os.WriteFile(filepath.Join(directory, entry.id, "stat"), []byte(stat), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := memcached.Process{Name: test.name, Directory: directory}.Find()
			if got.PID != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("found %d, %v", got.PID, err)
			}
		})
	}
}

func TestARealMemcachedIsFound(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		begin := time.Now()
		server := run.Start(t)
		process := memcached.Process{Name: server.Name, Directory: "/proc"}
		if found, err := process.Find(); err != nil || found.PID != server.PID() {
			t.Errorf("found %d, %v, want %d", found.PID, err, server.PID())
		}
		if at, err := process.Started(); err != nil || at.Before(begin.Add(-20*time.Millisecond)) || at.After(time.Now()) {
			t.Errorf("it started at %v, %v, want after %v", at, err, begin)
		}
		if err := process.Hangup(); err != nil {
			t.Error(err)
		}
	})
}
