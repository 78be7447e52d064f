//go:build e2e

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestInstalledOperator installs the operator once, for all walks that leave it as it is, and removes it as olm/README.md says.
// Walks that stand alone count everything that the operator does, need the only machine, or restart the operator.
func TestInstalledOperator(t *testing.T) {
	ctx := fresh(t)
	before, err := suite.cluster.Inventory(ctx)
	must(t, err)
	kubectl(ctx, t, "apply", "-f", suite.manifests) // All at once, as a user does.
	must(t, suite.cluster.WaitInstalled(ctx, suite.version, 5*time.Minute))

	t.Run("a new cache costs few writes", newCacheCostsFewWrites)
	t.Run("side by side", sideBySide)
	t.Run("evictions leave enough nodes", evicted)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("a Prometheus has metrics and alerts", metricsAndAlerts)
	must(t, suite.cluster.DeleteResources(ctx))
	t.Run("its end stops nothing, and leaves what the page says", func(t *testing.T) { uninstalled(t, before) })
}

// sideBySide runs walks that do not disturb each other. The longest come first. A walk has a namespace of its own, or names its
// objects like no other.
func sideBySide(t *testing.T) {
	t.Cleanup(func() { must(t, deleteSecrets(context.Background())) })
	walks := []struct {
		name  string
		walk  func(*testing.T)
		local bool // It calls onlyLocal.
	}{
		{"an Application finds its cache", boundApplications, false},
		{"TLS and users", secured, true},
		{"nodes follow when others have filled up", gated, true},
		{"the sample of an Application", sampleApplications, false},
		{"the tutorial of a cache", tutorial, false},
		{"the scorecard", scorecard, false},
		{"updates of an Application fail no request", updatesFailNoRequest, false},
		{"certificates that clients need not show", optionallyCertified, true},
		{"a Secret that is spoilt is noticed", spoiltSecret, true},
		{"memcached is upgraded warm", upgradedWarm, true},
		{"wrong input loses nothing", refusedInput, true},
		{"memory is resized live", resizedLive, true},
		{"of two Applications that claim a host the older one has it", olderHasTheHost, false},
		{"a cache moves to slots and back", moved, true},
		{"a quota that refuses nodes is told of", refusedByQuota, true},
		{"a deleted pod comes back to its slot", cameBack, true},
		{"metrics are for who may read them", metricsAreProtected, false},
	}
	// Package testing resumes parallel tests from the last one (Go 1.26).
	for _, w := range slices.Backward(walks) {
		t.Run(w.name, func(t *testing.T) {
			if w.local {
				onlyLocal(t)
			}
			t.Parallel()
			w.walk(t)
		})
	}
}

// onlyLocal skips a walk that finds pods by their DNS names and connects to them: this machine can do both only on the local
// cluster, where it is within the cluster's network.
func onlyLocal(t *testing.T) {
	t.Helper()
	if !suite.local {
		t.Skip("pods can be found by name, and reached, only from within the cluster's network")
	}
}
