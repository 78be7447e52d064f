package rollout_test

import (
	"strings"
	"testing"
)

// A node that reboots in mid-restart counts its processes anew. An update state of an older operator, and the state of an older
// agent, have the process ID only.
func TestARestartShowsInTheRunOfMemcached(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		sameID        bool
		want          string
	}{
		"another run with the same process ID": {"boot-1", "boot-2", true, "found its items again"},
		"the same run":                         {"boot-1", "boot-1", true, "has not noticed the restart"},
		"an older agent, the same process ID":  {"boot-1", "", true, "has not noticed the restart"},
		"an older agent, another process ID":   {"boot-1", "", false, "found its items again"},
		"an older operator, the same ID":       {"", "boot-2", true, "has not noticed the restart"},
		"an older operator, another ID":        {"", "boot-2", false, "found its items again"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withWarmRestart())
			m := c.simulatedPod(1)
			m.run = test.before
			before := m.process
			c.want(upgraded)
			steps, found := []string{}, false
			for range 20 {
				step := c.next()
				steps = append(steps, step.Message)
				if found = strings.Contains(step.Message, test.want); found {
					break
				}
				c.make(step)
				c.settle(1)
				if m.process != before { // memcached has restarted.
					m.run = test.after
				}
				if test.sameID {
					m.process = before
					if m.warm {
						m.run = test.after
					}
				}
			}
			if !found {
				t.Errorf("no step says %q:\n%s", test.want, strings.Join(steps, "\n"))
			}
		})
	}
}
