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

// mutantSample is how many plans of those that should find a known bug are run.
const mutantSample = "400"

var (
	// flags matches the oracle of a finding.
	flags = regexp.MustCompile(`\bO\d+: `)

	// alone matches how to run a plan alone.
	alone = regexp.MustCompile(`make (?:faults|operations) PLAN='(.*)'`)
)

// TestMutants builds this program with each known bug, and fails if no plan notices it: then the plans notice too little.
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
	var table strings.Builder
	for _, m := range mutants {
		if !strings.Contains(m.Name, *only) {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			oracles, plan := runMutant(t, m, root, baselines)
			_, _ = fmt.Fprintf(os.Stderr, "%s: %v %s\n", m.Name, oracles, plan)
			fmt.Fprintf(&table, "| %s | %s | %s |\n", m.Says, strings.Join(oracles, ", "), plan)
			if len(oracles) == 0 {
				t.Errorf("no plan finds it: %s", m.Says)
			}
		})
	}
	_, _ = fmt.Fprintf(os.Stderr, "| known bug | found by | first in the plan |\n| --- | --- | --- |\n%s", &table)
}

// runMutant runs plans with a known bug until one fails. It returns the oracles that were violated, and the first plan that failed.
func runMutant(t *testing.T, m faults.Mutant, root, baselines string) (oracles []string, plan string) {
	t.Helper()
	overlay, err := m.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "faults.test")
	build := exec.Command("go", "test", "-c", "-tags=faults", "-vet=off", "-trimpath", "-ldflags=-s", "-overlay="+overlay, "-o", program, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	test := "TestFaults"
	if strings.HasPrefix(m.Plans, "O") {
		test = "TestOperations"
	}
	run := exec.Command(program, "-test.run=^"+test+"$", "-test.failfast", "-test.parallel=16", "-test.timeout=30m",
		"-baselines="+baselines, "-sample="+mutantSample, "-plan="+m.Plans)
	output, err := run.CombinedOutput()
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
