//go:build faults

package faults_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/operator/faults"
)

const (
	// mutantSample is how many plans of those that should find a known bug are run.
	mutantSample = "400"

	// mutantsAtOnce is how many known bugs are tried at the same time. Plans mostly wait.
	mutantsAtOnce = 2
)

var (
	// flags matches the oracle of a finding.
	flags = regexp.MustCompile(`\bO\d+: `)

	// alone matches how to run a plan alone.
	alone = regexp.MustCompile(`make (?:faults|operations) PLAN='(.*)'`)
)

// TestMutants builds this program with each known bug, and fails if no plan notices it: then the plans notice too little. Without a bug, they
// have to notice nothing: the plan that found it has to pass.
func TestMutants(t *testing.T) {
	mutants, err := faults.ReadMutants(faults.Mutants)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(recordBaselines(t, startFeed(t)))
	if err != nil {
		t.Fatal(err)
	}
	baselines := filepath.Join(t.TempDir(), "baselines.json")
	if err := os.WriteFile(baselines, content, 0o600); err != nil {
		t.Fatal(err)
	}
	mutants = slices.DeleteFunc(mutants, func(m faults.Mutant) bool { return !strings.Contains(m.Name, *only) })
	asItIs := build(t, nil)
	rows, running := make([]string, len(mutants)), make(chan struct{}, mutantsAtOnce)
	t.Run("known bugs", func(t *testing.T) {
		for i, m := range mutants {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				running <- struct{}{}
				defer func() { <-running }()
				oracles, plan := runMutant(t, m, root, baselines)
				if plan != "" {
					if output, err := runWith(t, asItIs, plan, baselines); err != nil {
						t.Errorf("%s fails without the bug as well: %v\n%s", plan, err, output)
					}
				}
				_, _ = fmt.Fprintf(os.Stderr, "%s: %v %s\n", m.Name, oracles, plan)
				rows[i] = fmt.Sprintf("| %s | %s | %s |\n", m.Says, strings.Join(oracles, ", "), plan)
				if len(oracles) == 0 {
					t.Errorf("no plan finds it: %s", m.Says)
				}
			})
		}
	})
	_, _ = fmt.Fprintf(os.Stderr, "| known bug | found by | first in the plan |\n| --- | --- | --- |\n%s", strings.Join(rows, ""))
}

// runMutant runs plans with a known bug until one fails. It returns the oracles that were violated, and the first plan that failed.
func runMutant(t *testing.T, m faults.Mutant, root, baselines string) (oracles []string, plan string) {
	t.Helper()
	overlay, err := m.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	output, err := runWith(t, build(t, []string{"-overlay=" + overlay}), m.Plans, baselines)
	if err == nil {
		return nil, ""
	}
	failures := strings.Split(string(output), "--- FAIL: ")
	shown := strings.Join(slices.DeleteFunc(failures, func(text string) bool { return strings.Contains(text, errEnough.Error()) }), "")
	for _, found := range flags.FindAllString(shown, -1) {
		oracles = append(oracles, strings.TrimSuffix(found, ": "))
	}
	slices.Sort(oracles)
	if found := alone.FindStringSubmatch(shown); found != nil {
		plan = found[1]
	}
	if len(oracles) == 0 {
		t.Logf("%s", output)
	}
	return slices.Compact(oracles), plan
}

// build builds this program, and returns its path.
func build(t *testing.T, flags []string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "faults.test")
	arguments := slices.Concat([]string{"test", "-c", "-tags=faults", "-vet=off", "-trimpath", "-ldflags=-s"}, flags, []string{"-o", program, "."})
	if output, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

// runWith runs plans with a program until one fails, and returns what they print.
func runWith(t *testing.T, program, plans, baselines string) ([]byte, error) {
	t.Helper()
	test := "TestFaults"
	if strings.HasPrefix(plans, "O") {
		test = "TestOperations"
	}
	run := exec.Command(program, "-test.run=^"+test+"$", "-test.failfast", "-test.parallel=16", "-test.timeout=30m",
		"-baselines="+baselines, "-sample="+mutantSample, "-plan="+plans)
	return run.CombinedOutput()
}
