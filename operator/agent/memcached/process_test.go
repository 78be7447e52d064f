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
	wanted := entry{"7", "memcached", "S (sleeping)"}
	for name, test := range map[string]struct {
		name    string
		entries []entry
		want    int
		says    string
	}{
		"the one":                    {name: "memcached", entries: []entry{{"1", "pause", "S (sleeping)"}, wanted}, want: 7},
		"with a long name":           {name: "memcached-of-another-kind", entries: []entry{{"7", "memcached-of-an", "R (running)"}}, want: 7},
		"not one whose name goes on": {name: "memcached", entries: []entry{{"7", "memcached2", "S (sleeping)"}}, says: "shareProcessNamespace"},
		"not one that has ended":     {name: "memcached", entries: []entry{{"6", "memcached", "Z (zombie)"}, wanted}, want: 7},
		"not what is no process":     {name: "memcached", entries: []entry{{"self", "memcached", "S (sleeping)"}, wanted}, want: 7},
		"not itself":                 {name: "memcached", entries: []entry{{fmt.Sprint(os.Getpid()), "memcached", "S (sleeping)"}, wanted}, want: 7},
		"not two":                    {name: "memcached", entries: []entry{wanted, {"8", "memcached", "S (sleeping)"}}, says: `2 processes are named "memcached"`},
		"not any":                    {name: "memcached", says: `no process is named "memcached"`},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for _, entry := range test.entries {
				if err := os.MkdirAll(filepath.Join(directory, entry.id), 0o700); err != nil {
					t.Fatal(err)
				}
				status := fmt.Sprintf("Name:\t%s\nUmask:\t0022\nState:\t%s\nTgid:\t1\n", entry.name, entry.state)
				if err := os.WriteFile(filepath.Join(directory, entry.id, "status"), []byte(status), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := memcached.Process{Name: test.name, Directory: directory}.Find()
			if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("found %d, %v", got, err)
			}
		})
	}
}

func TestARealMemcachedIsFound(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		begin := time.Now()
		server := run.Start(t)
		finder := memcached.Process{Name: server.Name, Directory: "/proc"}
		if id, err := finder.Find(); err != nil || id != server.PID() {
			t.Errorf("found %d, %v, want %d", id, err, server.PID())
		}
		if at, err := finder.Started(); err != nil || at.Before(begin.Add(-20*time.Millisecond)) || at.After(time.Now()) {
			t.Errorf("it started at %v, %v, want after %v", at, err, begin)
		}
		if err := finder.Hangup(); err != nil {
			t.Error(err)
		}
	})
}
