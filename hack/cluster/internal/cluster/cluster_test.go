package cluster

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/example/memcached-operator/hack/cluster/internal/layout"
	"github.com/example/memcached-operator/hack/cluster/internal/progress"
)

func TestStepsAreInAnOrderThatCanBeRun(t *testing.T) {
	c := New(layout.Layout{Repo: "/repo", Cache: "/cache"}, progress.New(io.Discard))
	for _, options := range []Options{{}, {WithoutOLM: true}, {WithSDK: true}} {
		if err := c.steps(tools{}, options).Validate(); err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

func TestEveryListenerBelongsToAStepThatStopsIt(t *testing.T) {
	// The processes that the steps start; a port of anything else would never be checked as the cluster's own.
	processes := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "coredns", "registry"}
	for _, port := range layout.Ports() {
		if !slices.Contains(processes, port.Process) {
			t.Errorf("port %s belongs to %q, which no step starts", port.Address, port.Process)
		}
	}
}

func TestRunningSaysHowToStartWhenNothingRuns(t *testing.T) {
	c := New(layout.Layout{Repo: t.TempDir(), Cache: t.TempDir()}, progress.New(io.Discard))
	if err := c.Running(); !errors.Is(err, errDown) {
		t.Errorf("error is %v", err)
	}
}
