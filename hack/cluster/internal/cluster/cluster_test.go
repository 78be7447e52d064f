package cluster

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

func TestStepsAreInAValidOrder(t *testing.T) {
	c := New(host.Layout{Repo: "/repo", Cache: "/cache"}, io.Discard)
	for _, options := range []Options{{}, {WithoutOLM: true}, {WithOLMv1: true}, {WithSDK: true}} {
		if err := c.steps(nil, options).Validate(); err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

func TestEveryPortBelongsToAProcessOfTheSteps(t *testing.T) {
	// These are the processes that the steps start. A port of another process would not be recognized as the cluster's own.
	processes := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "coredns", "registry", "catalogd", "operator-controller"}
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
