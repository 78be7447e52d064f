package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRunPrintsStepsWithOutcomesUntilOneFails(t *testing.T) {
	var out strings.Builder
	d := demo{out: &out}
	err := d.run(t.Context(), []step{
		{"Create a cache", func(context.Context) (string, error) { return "The cache is ready", nil }},
		{"Use the cache", func(context.Context) (string, error) { return "", errors.New("connection refused") }},
		{"Never run", func(context.Context) (string, error) { return "", errors.New("it was run") }},
	})
	if want := "step 2 of 3 failed (Use the cache): connection refused"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, line := range []string{"[1/3] Create a cache\n", "OK: The cache is ready (0s).\n", "[2/3] Use the cache\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in:\n%s", line, out.String())
		}
	}
}

// The shell that ran `make demo` does not know the local cluster.
func TestTheHintsBeginWithTheCluster(t *testing.T) {
	for kubeconfig, want := range map[string]string{
		"/cache/admin.kubeconfig": "Look around:\n      export KUBECONFIG='/cache/admin.kubeconfig'\n      kubectl get memcacheds",
		"":                        "Look around:\n      kubectl get memcacheds",
	} {
		var out strings.Builder
		d := demo{out: &out, kubeconfig: kubeconfig}
		d.sayWhatNext()
		if !strings.Contains(out.String(), want) {
			t.Errorf("with KUBECONFIG=%s the hints are:\n%s", kubeconfig, out.String())
		}
	}
}
