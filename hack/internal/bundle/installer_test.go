package bundle_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/testkit"
)

func released(t *testing.T, versions ...string) []*manifests.Bundle {
	t.Helper()
	var bundles []*manifests.Bundle
	for _, version := range versions {
		bundles = append(bundles, testkit.Must(manifests.GetBundleFromDir(filepath.Join(root, "bundles", "v"+version)))(t))
	}
	return bundles
}

func installerRules(t *testing.T, versions ...string) (cluster, space []rbacv1.PolicyRule) {
	t.Helper()
	for _, object := range testkit.Must(bundle.Installer(released(t, versions...)...))(t) {
		switch role := object.(type) {
		case rbacv1.ClusterRole:
			cluster = role.Rules
		case rbacv1.Role:
			space = role.Rules
		}
	}
	return cluster, space
}

// Nobody may grant more rights than they have, so the installer has all that a bundle grants.
func TestTheInstallerHasTheRightsThatItGrants(t *testing.T) {
	cluster, _ := installerRules(t, "0.4.1")
	content := released(t, "0.4.1")[0]
	strategy := content.CSV.Spec.InstallStrategy.StrategySpec
	for _, permission := range slices.Concat(strategy.ClusterPermissions, strategy.Permissions) {
		for _, rule := range permission.Rules {
			if !slices.ContainsFunc(cluster, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, rule) }) {
				t.Errorf("the installer may not grant %+v", rule)
			}
		}
	}
}

// What the installer changes or deletes is named, and it may neither bind nor escalate.
func TestTheInstallerChangesOnlyNamedObjects(t *testing.T) {
	cluster, space := installerRules(t, "0.4.1")
	for _, rule := range slices.Concat(cluster, space) {
		for _, verb := range rule.Verbs {
			if slices.Contains([]string{"*", "bind", "escalate", "impersonate"}, verb) {
				t.Errorf("the installer may %s: %+v", verb, rule)
			}
		}
		own := slices.ContainsFunc(rule.APIGroups, func(g string) bool { return g == rbacv1.GroupName || g == "apiextensions.k8s.io" })
		if own && slices.Contains(rule.Verbs, "delete") && len(rule.ResourceNames) == 0 {
			t.Errorf("the installer may delete what it does not install: %+v", rule)
		}
	}
}

// The names of roles depend on their rules, so an upgrade needs the names of both releases.
func TestTheInstallerKnowsTheObjectsOfAllBundles(t *testing.T) {
	names := func(versions ...string) int {
		total := 0
		cluster, _ := installerRules(t, versions...)
		for _, rule := range cluster {
			if slices.Equal(rule.Resources, []string{"clusterrolebindings"}) {
				total += len(rule.ResourceNames)
			}
		}
		return total
	}
	if one, two := names("0.4.1"), names("0.4.0", "0.4.1"); one != 2 || two != 4 {
		t.Errorf("%d bindings of one release and %d of two, want 2 and 4", one, two)
	}
}
