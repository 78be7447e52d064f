//go:build faults

package faults_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

var (
	sample   = flag.Int("sample", 0, "how many plans to run, the same number of each class; 0 for all")
	only     = flag.String("plan", "", "run only the plans whose name contains this")
	recorded = flag.String("baselines", "", "file with what another program does without faults; by default this one shows it")
	state    = flag.String("state", "", "file with the plans that this program has run without a failure, which are not run again")
)

// needed returns the workloads whose plans may be selected.
func needed() []*workload {
	named := slices.DeleteFunc(slices.Clone(workloads), func(w *workload) bool { return !strings.Contains(*only, "/"+w.name+"/") })
	if len(named) > 0 {
		return named
	}
	return workloads
}

// selected returns those of all plans to run, always the same ones for the same number. id names a plan, its class first.
func selected[Plan any](all []Plan, id func(Plan) string) []Plan {
	all = slices.DeleteFunc(all, func(p Plan) bool { return !strings.Contains(id(p), *only) })
	if *sample == 0 {
		return all
	}
	byClass := map[string][]Plan{}
	for _, p := range all {
		class, _, _ := strings.Cut(id(p), "/")
		byClass[class] = append(byClass[class], p)
	}
	var chosen []Plan
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		of := byClass[class]
		slices.SortFunc(of, func(a, b Plan) int { return cmp.Compare(hash(id(a)), hash(id(b))) })
		chosen = append(chosen, of[:min(len(of), max(1, *sample/len(byClass)))]...)
	}
	return chosen
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // It cannot fail.
	return h.Sum64()
}

// resume returns the plans that this program has passed earlier, and where to write those that it passes. Another program, which may have
// another result, begins anew.
func resume() (passed map[string]bool, to io.WriteCloser, err error) {
	passed = map[string]bool{}
	if *state == "" {
		return passed, discard{io.Discard}, nil
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		return nil, nil, err
	}
	first := fmt.Sprintf("program %x", hash(string(program)))
	content, err := os.ReadFile(*state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if lines := strings.Split(strings.TrimSpace(string(content)), "\n"); lines[0] == first {
		flags = os.O_WRONLY | os.O_APPEND
		for _, line := range lines[1:] {
			passed[line] = true
		}
	}
	file, err := os.OpenFile(*state, flags, 0o644)
	if err == nil && flags&os.O_TRUNC != 0 {
		_, err = fmt.Fprintln(file, first)
	}
	return passed, file, err
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }
