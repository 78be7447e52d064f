//go:build faults

package faults_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcomes are the results of plans.
type outcomes struct {
	mutex   sync.Mutex
	byFault map[string]*outcome
	passed  io.Writer // Gets the plans that have passed, one in a line.
	slowest string    // The plan that took longest.
	longest time.Duration
}

type outcome struct {
	plans, reached, failed int
	took                   time.Duration
}

func (o *outcome) add(other outcome) {
	o.plans, o.reached, o.failed, o.took = o.plans+other.plans, o.reached+other.reached, o.failed+other.failed, o.took+other.took
}

// add adds the result of a plan.
func (o *outcomes) add(p *plan, reached bool, found []string, took time.Duration) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	name := p.class + " " + p.name
	if o.byFault[name] == nil {
		o.byFault[name] = &outcome{}
	}
	result := outcome{plans: 1, took: took}
	if reached {
		result.reached = 1
	}
	if len(found) > 0 {
		result.failed = 1
		_, _ = fmt.Fprintf(os.Stderr, "%s failed: %.300s\n", p.id(), found[0])
	} else if reached {
		_, _ = fmt.Fprintln(o.passed, p.id()) // Should that fail, it is only run once more.
	}
	o.byFault[name].add(result)
	if took > o.longest {
		o.slowest, o.longest = p.id(), took
	}
}

// total is the sum of all.
func (o *outcomes) total() (sum outcome) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, result := range o.byFault {
		sum.add(*result)
	}
	return sum
}

// String is the summary, a table.
func (o *outcomes) String() string {
	sum := o.total()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var text strings.Builder
	text.WriteString("| fault | plans | reached | failed | seconds each |\n| --- | --- | --- | --- | --- |\n")
	line := func(name string, r outcome) {
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %.1f |\n", name, r.plans, r.reached, r.failed, r.took.Seconds()/float64(max(1, r.plans)))
	}
	for _, name := range slices.Sorted(maps.Keys(o.byFault)) {
		line(name, *o.byFault[name])
	}
	line("all", sum)
	fmt.Fprintf(&text, "slowest: %s, %.1f seconds\n", o.slowest, o.longest.Seconds())
	return text.String()
}
