//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/walk"
)

// notNow is the message of the operator in these tests.
const notNow = "two caches are being moved; wait until they are ready"

// An operator that reports Upgradeable=False blocks an approved upgrade until it reports True or an administrator overrides
// it. OLM carries out parts of the upgrade all the same. After an upgrade, the release can be rolled back and upgraded again.
func TestUpgradeIsBlockedAndRolledBack(t *testing.T) {
	from, to := upgradeToTest(t)
	ctx := withoutOperator(t)
	choose(ctx, t, walk.Choice{Version: from, Channel: "candidate"})
	catalog, steps := publishNext(t, "next", 1)
	next := steps[0].To
	must(t, suite.cluster.AddCatalog(ctx, nextSource, catalog))
	u := newUsers(t, from)

	allow := refuseReports(t, from)
	block(ctx, t, from, to)
	t.Run("a part of the upgrade is not blocked", func(t *testing.T) { isBlockedInPart(ctx, t, from, to) })
	u.untouched("an upgrade that is blocked")
	allow()
	administrator{newShell(t)}.overrides(from, to, notNow)
	must(t, suite.cluster.WaitOnly(ctx, to, 3*time.Minute))
	u.lookedAfter(to)
	u.untouched("an upgrade that was blocked until an override")

	u.offer(to)
	must(t, withdraw(ctx))
	must(t, suite.cluster.Subscribe(ctx, suite.manifests, walk.Choice{Version: from, Channel: "candidate"}))
	approve(ctx, t, from)
	must(t, suite.cluster.WaitOnly(ctx, from, 3*time.Minute))
	u.lookedAfter(from)
	u.untouched("the way back to " + from)
	t.Run("the CRDs are those of the old version again", func(t *testing.T) { definitionsAre(ctx, t, from) })

	allow = refuseReports(t, from)
	block(ctx, t, from, to)
	must(t, suite.cluster.Report(ctx, from, metav1.ConditionTrue, "Moved", "all caches are ready"))
	allow()
	must(t, suite.cluster.WaitOnly(ctx, to, 3*time.Minute))
	u.lookedAfter(to)
	u.untouched("an upgrade that was blocked until the operator reported True")
	u.offer(to)

	must(t, suite.cluster.SetSource(ctx, nextSource))
	// Without a pod, nothing replaces the test's report.
	scaleOperator(ctx, t, 0)
	block(ctx, t, to, next)
	u.untouched("an upgrade that is blocked without an operator")
	scaleOperator(ctx, t, 1)
	must(t, suite.cluster.WaitOnly(ctx, next, 3*time.Minute))
	u.lookedAfter(next)
	u.untouched("an upgrade that was blocked until the operator ran again")
}

// refuseReports refuses reports of the operator, which would soon replace those of the test: it repeats them once a minute, and when something
// changes. The function that it returns allows them again.
func refuseReports(t *testing.T, version string) (allow func()) {
	t.Helper()
	remove := func() { must(t, allowReports(context.Background())) }
	t.Cleanup(remove)
	kubectl(t.Context(), t, "apply", "-f", reportsPolicy())
	must(t, walk.Within(t.Context(), 30*time.Second, "the operator's reports to be refused", func(ctx context.Context) error {
		_, err := suite.cluster.Kubectl(ctx, "annotate", "operatorcondition", walk.CSVName(version), "-n", walk.Namespace, "refused=true",
			"--dry-run=server", "--as=system:serviceaccount:"+walk.Namespace+":"+project.Deployment)
		if err != nil && strings.Contains(err.Error(), "a test reports for the operator") {
			return nil
		}
		return errors.Join(errors.New("they are not refused"), err)
	}))
	return remove
}

func allowReports(ctx context.Context) error { return suite.cluster.Delete(ctx, "-f", reportsPolicy()) }

func reportsPolicy() string {
	return filepath.Join(suite.root, "olm", "e2e", "testdata", "reports.yaml")
}

// scaleOperator stops the operator, or starts it again. OLM does not revert that.
func scaleOperator(ctx context.Context, t *testing.T, replicas int) {
	t.Helper()
	kubectl(ctx, t, "scale", "deployment", project.Deployment, "-n", walk.Namespace, fmt.Sprintf("--replicas=%d", replicas))
	operatorHasPods(ctx, t, replicas)
}

func operatorHasPods(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	must(t, walk.Within(ctx, time.Minute, fmt.Sprintf("the operator to have %d pods", count), func(ctx context.Context) error {
		pods, err := suite.cluster.OperatorPods(ctx)
		if err == nil && len(pods) != count {
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	}))
}

// upgradeToTest returns the newest upgrade of the default channel: to its head, from the previous release.
func upgradeToTest(t *testing.T) (from, to string) {
	t.Helper()
	offered, err := suite.stage.Graph(t.Context())
	must(t, err)
	for _, channel := range offered.Channels {
		chain, err := channel.Chain()
		must(t, err)
		if channel.Name == offered.DefaultChannel && len(chain) > 1 {
			return chain[1].Version.String(), chain[0].Version.String()
		}
	}
	t.Skip("the default channel has one release only, so there is no upgrade")
	return "", ""
}

// block makes the version report that it cannot be upgraded, and approves the upgrade.
func block(ctx context.Context, t *testing.T, from, to string) {
	t.Helper()
	must(t, suite.cluster.Report(ctx, from, metav1.ConditionFalse, "Moving", notNow))
	approve(ctx, t, to)
	csv, err := suite.cluster.WaitPhase(ctx, to, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable, 2*time.Minute)
	must(t, err)
	contains(t, csv.Status.Message, notNow)
}

// isBlockedInPart tests which parts of a blocked upgrade OLM carries out all the same (measured with olmVersion). Releases must tolerate
// that.
func isBlockedInPart(ctx context.Context, t *testing.T, from, to string) {
	t.Run("the InstallPlan is complete", func(t *testing.T) {
		must(t, walk.Within(ctx, time.Minute, "every InstallPlan to be complete", func(ctx context.Context) error {
			phases, err := suite.cluster.Kubectl(ctx, "get", "installplans", "-n", walk.Namespace, "-o", "jsonpath={.items[*].status.phase}")
			if err == nil && phases != "Complete Complete" {
				err = fmt.Errorf("they are %s", phases)
			}
			return err
		}))
	})
	t.Run("the CRDs are those of the new version", func(t *testing.T) { definitionsAre(ctx, t, to) })
	t.Run("the new version has its permissions", func(t *testing.T) {
		var bindings rbacv1.ClusterRoleBindingList
		must(t, suite.cluster.Client.List(ctx, &bindings, client.MatchingLabels{"olm.owner": walk.CSVName(to)}))
		if len(bindings.Items) == 0 {
			t.Error("there is no ClusterRoleBinding of it")
		}
	})
	t.Run("the old version is being replaced, and works", func(t *testing.T) {
		_, err := suite.cluster.WaitPhase(ctx, from, operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced, time.Minute)
		must(t, err)
		newCacheIsReady(ctx, t)
	})
	t.Run("OLM does not repair the old version", func(t *testing.T) { operatorIsNotRepaired(ctx, t) })
}

// definitionsAre compares the CRDs on the cluster with those in the bundle of a version.
func definitionsAre(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(suite.bundleDir), "v"+version, "manifests", "*.yaml"))
	must(t, err)
	compared := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		var want, got apiextensionsv1.CustomResourceDefinition
		must(t, yaml.Unmarshal(content, &want))
		if want.Kind != "CustomResourceDefinition" {
			continue
		}
		must(t, suite.cluster.Client.Get(ctx, types.NamespacedName{Name: want.Name}, &got))
		if diff := cmp.Diff(want.Spec.Versions, got.Spec.Versions); diff != "" {
			t.Errorf("%s is not the one of %s (-bundle +cluster):\n%s", want.Name, version, diff)
		}
		compared++
	}
	if compared == 0 {
		t.Errorf("the bundle of %s has no definition", version)
	}
}

// newCacheIsReady creates a cache, and deletes it when it is ready.
func newCacheIsReady(ctx context.Context, t *testing.T) {
	t.Helper()
	key := inDefault("another-memcached")
	manifest := filepath.Join(t.TempDir(), "cache.yaml")
	content := strings.Replace(string(readFile(t, sample("cache_v1alpha1_memcached.yaml"))), "name: memcached-sample", "name: "+key.Name, 1)
	must(t, os.WriteFile(manifest, []byte(content), 0o600))
	kubectl(ctx, t, "apply", "-n", key.Namespace, "-f", manifest)
	_, err := suite.cluster.WaitReady(ctx, key, 2, 2*time.Minute) // Another operator may hold the Lease for 15 seconds.
	must(t, err)
	kubectl(ctx, t, "delete", "-n", key.Namespace, "-f", manifest, "--cascade=foreground", "--timeout=60s")
}

// operatorIsNotRepaired deletes the operator's Deployment. At any other time, OLM would recreate it within seconds. Now nothing
// reconciles the caches until the upgrade goes on, which is why the operator should block an upgrade only for a short time.
func operatorIsNotRepaired(ctx context.Context, t *testing.T) {
	t.Helper()
	uid := []string{"get", "deployment", project.Deployment, "-n", walk.Namespace, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"}
	before := kubectl(ctx, t, uid...)
	kubectl(ctx, t, "delete", "deployment", project.Deployment, "-n", walk.Namespace)
	err := walk.Within(ctx, 15*time.Second, "the operator's Deployment to be back", func(ctx context.Context) error {
		now, err := suite.cluster.Kubectl(ctx, uid...)
		if err == nil && (now == "" || now == before) {
			err = errors.New("it is gone")
		}
		return err
	})
	if err == nil {
		t.Error("OLM has repaired it: say so in olm/README.md and here")
	} else if !strings.Contains(err.Error(), "it is gone") {
		t.Error(err)
	}
	operatorHasPods(ctx, t, 0)
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	must(t, err)
	return content
}
