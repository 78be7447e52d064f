//go:build e2e

package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/walk"
)

// TestInstalledOperator installs the operator once for all subtests that leave it as it is, and removes it as olm/README.md
// says. A subtest that counts everything the operator does, needs the nodes or all their CPUs, or restarts the operator runs alone.
func TestInstalledOperator(t *testing.T) {
	ctx := fresh(t)
	before := inventory(ctx, t)
	kubectl(ctx, t, "apply", "-f", suite.manifests) // As a user does.
	must(t, suite.cluster.WaitInstalled(ctx, suite.version, 5*time.Minute))
	runsStaged(ctx, t)

	t.Run("a new cache costs few writes", newCacheCostsFewWrites)
	t.Run("side by side", sideBySide)
	t.Run("evictions leave enough pods", evicted)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("updates fail no request when Services learn late", learnLate)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("nodes", onNodes)
	t.Run("a cache of real size is upgraded warm", realSize)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("a shrink that the hash table does not fit is refused", refusedShrink)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("a Prometheus has metrics and alerts", metricsAndAlerts)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("it moves to OLM v1 and back", movedToOLMv1)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("its removal stops nothing, and leaves what the page says", func(t *testing.T) { uninstalled(t, before) })
}

// inventory returns the inventory of the cluster when it stays the same for five seconds: what the test before has deleted may still go.
func inventory(ctx context.Context, t *testing.T) []string {
	t.Helper()
	var before []string
	since := time.Now()
	must(t, walk.Within(ctx, 2*time.Minute, "the cluster to stay as it is", func(ctx context.Context) error {
		now, err := suite.cluster.Inventory(ctx)
		if err != nil {
			return err
		}
		if !slices.Equal(before, now) {
			before, since = now, time.Now()
		}
		if time.Since(since) < 5*time.Second {
			return errors.New("it has just changed")
		}
		return nil
	}))
	return before
}

// runsStaged fails the test unless the operator that runs is the staged one. OLM may take a bundle of the same version from a catalog that
// was there some minutes ago.
func runsStaged(ctx context.Context, t *testing.T) {
	t.Helper()
	image := kubectl(ctx, t, "get", "deployment", walk.Package+"-controller-manager", "-n", walk.Namespace, "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	_, want, _ := strings.Cut(suite.stage.Find(suite.version).OperatorImage, "@")
	if _, got, _ := strings.Cut(image, "@"); got != want {
		t.Fatalf("OLM has installed the operator %s, want %s: it still knows an earlier catalog. Run the tests again in five minutes", image, want)
	}
}

// sideBySide runs subtests in parallel, the longest first. A subtest has a namespace or object names of its own.
func sideBySide(t *testing.T) {
	t.Cleanup(func() { must(t, deleteSecrets(context.Background())) })
	limitByPolicies(t) // All else works beside them.
	subtests := []struct {
		name  string
		test  func(*testing.T)
		local bool // It calls onlyLocal.
	}{
		{"an Application finds its cache", boundApplications, false},
		{"TLS and users", secured, true},
		{"commands on the pages work", commandsOnPages, true},
		{"what hangs or is killed harms no other pod", silent, true},
		{"a pod without free connections goes on", fullPod, true},
		{"what somebody edits is put back", edited, true},
		{"a pod is replaced when the one before has filled up", gated, true},
		{"an ingress controller serves Applications", servedByIngress, true},
		{"an object that a policy refuses is reported", refusedByPolicy, true},
		{"names that others have are left to them", namesTaken, true},
		{"a cache and an Application share a name", oneName, true},
		{"the sample of an Application", sampleApplications, false},
		{"the tutorial of a cache", tutorial, false},
		{"the scorecard", scorecard, false},
		{"updates of an Application fail no request", updatesFailNoRequest, false},
		{"attackers gain no more than the page says", attackers, true},
		{"certificates that clients need not show", optionallyCertified, true},
		{"an invalid Secret is reported", spoiltSecret, true},
		{"memcached is upgraded warm", upgradedWarm, true},
		{"wrong input loses nothing", refusedInput, true},
		{"memory is resized live", resizedLive, true},
		{"of two Applications that claim a host the older one has it", olderHasTheHost, false},
		{"a cache moves to a StatefulSet and back", moved, true},
		{"an autoscaler sets the size", autoscaled, true},
		{"a container uses the binding", usedByBinding, true},
		{"a quota that refuses pods is reported", refusedByQuota, true},
		{"a deleted pod comes back with its names", cameBack, true},
		{"a network policy limits who may connect", limitedToClients, true},
		{"only a role gives access to metrics", metricsAreProtected, false},
	}
	// Package testing resumes parallel tests from the last one (Go 1.26).
	for _, s := range slices.Backward(subtests) {
		t.Run(s.name, func(t *testing.T) {
			if s.local {
				onlyLocal(t)
			}
			t.Parallel()
			s.test(t)
		})
	}
}

// onlyLocal skips a test that looks up the DNS names of pods and connects to them. This machine can do both only on the local
// cluster, because it is in that cluster's network.
func onlyLocal(t *testing.T) {
	t.Helper()
	if !suite.local {
		t.Skip("this machine is not in the cluster's network, so it can neither look up nor reach pods")
	}
}
