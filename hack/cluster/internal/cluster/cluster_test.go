package cluster

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

func TestStepsAreInAnOrderThatCanBeRun(t *testing.T) {
	c := New(host.Layout{Repo: "/repo", Cache: "/cache"}, io.Discard)
	for _, options := range []Options{{}, {WithoutOLM: true}, {WithSDK: true}} {
		if err := c.steps(nil, options).Validate(); err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

func TestEveryListenerBelongsToAStepThatStopsIt(t *testing.T) {
	// The processes that the steps start; a port of anything else would never be checked as the cluster's own.
	processes := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "coredns", "registry"}
	for _, port := range host.Ports() {
		if !slices.Contains(processes, port.Process) {
			t.Errorf("port %s belongs to %q, which no step starts", port.Address, port.Process)
		}
	}
}

func TestRunningSaysHowToStartWhenNothingRuns(t *testing.T) {
	c := New(host.Layout{Repo: t.TempDir(), Cache: t.TempDir()}, io.Discard)
	if err := c.Running(); !errors.Is(err, errDown) {
		t.Errorf("error is %v", err)
	}
}
