package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

func TestStepsAreInAValidOrder(t *testing.T) {
	c := New(host.Layout{Repo: "/repo", Cache: "/cache"}, io.Discard)
	for _, options := range []Options{{}, {WithoutOLM: true}, {WithOLMv1: true}, {WithNetworkPolicies: true}, {WithSDK: true}} {
		for nodes := range host.Nodes {
			if err := c.steps(nil, host.Nodes[:nodes+1], options).Validate(); err != nil {
				t.Errorf("%+v, %d nodes: %v", options, nodes+1, err)
			}
		}
	}
}

func TestEveryPortBelongsToAProcessOfTheSteps(t *testing.T) {
	// A port of another process would not be recognized as the cluster's own.
	var processes []string
	for _, step := range New(host.Layout{Repo: "/repo", Cache: "/cache"}, io.Discard).steps(nil, host.Nodes, everything) {
		processes = append(processes, step.Process.Name)
	}
	for _, port := range host.Ports() {
		if !slices.Contains(processes, port.Process) {
			t.Errorf("port %s belongs to %q, which no step starts", port.Address, port.Process)
		}
	}
}

func TestRunningReturnsErrDownWhenNothingRuns(t *testing.T) {
	c := New(host.Layout{Repo: t.TempDir(), Cache: t.TempDir()}, io.Discard)
	if err := c.Running(); !errors.Is(err, errDown) {
		t.Errorf("error is %v", err)
	}
}

func TestAStartOfAProcessThatAlwaysEndsIsReportedSoon(t *testing.T) {
	c := New(host.Layout{Repo: t.TempDir(), Cache: t.TempDir()}, io.Discard)
	unlock, err := c.lock() // It makes the folders.
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	started := filepath.Join(t.TempDir(), "started")
	spec := process.Spec{
		Name: "broken", Path: "/bin/sh", Args: []string{"-c", "echo again >>" + started + "; echo wrong flag; exit 1"},
		Ready: func(context.Context) error { return errors.New("it does not answer") },
	}
	if _, err := c.supervisor.Ensure(spec); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // Half of the time that a process has to become ready.
	defer cancel()
	err = c.awaitStart(ctx, spec)
	if err == nil || !regexp.MustCompile(`broken ended after each of \d+ starts: broken has exited[^$]*wrong flag`).MatchString(err.Error()) {
		t.Errorf("error is %v", err)
	}
	if times, err := os.ReadFile(started); err != nil || strings.Count(string(times), "again") < 5 {
		t.Errorf("it was started %d times: %v", strings.Count(string(times), "again"), err)
	}
}

func TestTheNumberOfNodesStaysUntilTheClusterIsDown(t *testing.T) {
	c := New(host.Layout{Repo: t.TempDir(), Cache: t.TempDir()}, io.Discard)
	if err := os.MkdirAll(c.supervisor.Run, 0o750); err != nil {
		t.Fatal(err)
	}
	expect := func(asked, want int) {
		t.Helper()
		if got, err := c.nodes(asked); err != nil || len(got) != want {
			t.Errorf("asked for %d nodes, got %d: %v", asked, len(got), err)
		}
	}
	expect(0, 2)
	expect(1, 1)
	for i, n := range host.Nodes { // A killed one has a record, too.
		if err := os.WriteFile(filepath.Join(c.supervisor.Run, n.Kubelet()+".json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(0, i+1)
		expect(2, 2)
	}
	if _, err := c.nodes(1); err == nil || !strings.Contains(err.Error(), "take it down first") {
		t.Errorf("error is %v", err)
	}
	if _, err := c.nodes(3); err == nil {
		t.Error("three nodes are too many")
	}
}
