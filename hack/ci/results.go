package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// event is a line of `go test -json`. Its fields are described in `go doc test2json`.
type event struct {
	Action, Package, Test, ImportPath, Output, FailedBuild string
	Elapsed                                                float64
}

// row is a test or a package that has ended.
type row struct {
	name, result string
	seconds      float64
}

// results collects what go test reports.
type results struct {
	out     io.Writer
	verbose bool
	// output is that of tests that have not ended, by package and test.
	output map[string][]string
	rows   []row
	// failures counts the tests that failed, by package.
	failures        map[string]int
	passed          int
	failed, skipped []string
}

func newResults(out io.Writer, verbose bool) *results {
	return &results{out: out, verbose: verbose, output: map[string][]string{}, failures: map[string]int{}}
}

// read takes events until there are no more. A line that is no event is printed as it is.
func (r *results) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil {
				r.take(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}

func (r *results) take(e event) {
	name := e.Package
	if e.Test != "" {
		name += " " + e.Test
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.print(e, name)
	case "pass", "fail", "skip":
		r.end(e, name)
	}
}

// print prints output at once, or keeps it in case its test fails.
func (r *results) print(e event, name string) {
	switch {
	case strings.HasPrefix(e.Output, "=== PAUSE"), strings.HasPrefix(e.Output, "=== CONT"):
	case r.verbose, e.Test == "" && e.Output != "PASS\n":
		fmt.Fprint(r.out, e.Output)
	case e.Test != "":
		r.output[name] = append(r.output[name], e.Output)
	}
}

// end counts a test or a package. A package counts as a test when it failed without one: it was not built, or its process died.
func (r *results) end(e event, name string) {
	if e.Action == "fail" && !r.verbose {
		fmt.Fprint(r.out, strings.Join(r.output[name], ""))
	}
	delete(r.output, name)
	if e.Test == "" {
		if e.Action == "fail" && r.failures[e.Package] == 0 {
			r.failed = append(r.failed, name)
		}
		if e.Action != "skip" { // It has no tests.
			r.rows = append(r.rows, row{name, e.Action, e.Elapsed})
		}
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed = append(r.failed, name)
		r.failures[e.Package]++
	case "skip":
		r.skipped = append(r.skipped, name)
	}
	if e.Elapsed >= shortest && strings.Count(e.Test, "/") < deepest {
		r.rows = append(r.rows, row{name, e.Action, e.Elapsed})
	}
}

const (
	// shortest is how many seconds a test has to take to be in the table.
	shortest = 1
	// deepest is how many levels of subtests the table shows.
	deepest = 3
)

// table prints packages and tests, the slowest first, and a summary.
func (r *results) table(out io.Writer) {
	slices.SortStableFunc(r.rows, func(a, b row) int { return cmp.Compare(b.seconds, a.seconds) })
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(lines, "\nseconds\t\t")
	for _, row := range r.rows {
		fmt.Fprintf(lines, "%.1f\t%s\t %s\n", row.seconds, row.result, strings.TrimPrefix(row.name, "github.com/example/memcached-operator/"))
	}
	_ = lines.Flush() // Standard output: nobody is there to be told.
	for what, names := range map[string][]string{"failed": r.failed, "skipped": r.skipped} {
		for _, name := range names {
			fmt.Fprintf(out, "%s: %s\n", what, name)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, len(r.failed), len(r.skipped))
}

// err returns what is wrong with the results.
func (r *results) err(skippedFails bool) error {
	switch {
	case len(r.failed) > 0:
		return fmt.Errorf("%d tests failed", len(r.failed))
	case skippedFails && len(r.skipped) > 0:
		return fmt.Errorf("%d tests were skipped, and CI=true", len(r.skipped))
	case r.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}
