package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/example/memcached-operator/hack/project"
)

const account = "system:serviceaccount:memcached-operator-system:" + project.Deployment

// event returns a line of an audit log.
func event(user, agent, object, verb, more string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","user":{"username":"` + user + `"},"userAgent":"` + agent +
		`","objectRef":` + object + `,"verb":"` + verb + `"` + more + "}\n"
}

func TestUsedRightsAreThoseOfTheVersionUnderDevelopment(t *testing.T) {
	const current, pods = project.Package + "/" + project.Version, `{"resource":"pods","namespace":"shop"}`
	const denied = `,"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"forbid"}`
	log := filepath.Join(t.TempDir(), "audit.log")
	lines := event(account, current, pods, "list", "") +
		event(account, current, pods, "list", "") +
		event(account, current, `{"resource":"pods","subresource":"eviction","namespace":"shop"}`, "create", "") +
		event(account, "manager/v0.0.0/leader-election", `{"apiGroup":"coordination.k8s.io","resource":"leases","namespace":"memcached-operator-system"}`, "update", "") +
		event(account, current, `{"apiGroup":"operators.coreos.com","resource":"operatorconditions","namespace":"memcached-operator-system"}`, "get", "") +
		event(account, current, `{"resource":"secrets","namespace":"shop"}`, "list", denied) +
		event(account, current, `{"apiGroup":"apps","resource":"deployments","namespace":"shop"}`, "patch", `,"responseStatus":{"code":403}`) +
		event(account, project.Package+"/0.0.1", pods, "watch", "") +
		event(account, "manager/v0.0.0", pods, "watch", "") +
		event("system:serviceaccount:memcached-operator-system:memcached-operator-installer", "operator-controller", pods, "list", "") +
		event("system:serviceaccount:memcached-operator-system:memcached-operator-installer", "operator-controller", pods, "list", denied+`,"requestURI":"/api/v1/pods"`) +
		event("admin", current, pods, "delete", "")
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	rights, refused, err := used([]string{log})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, right := range rights {
		got = append(got, right.String())
	}
	want := []string{"apps deployments: patch", "coordination.k8s.io leases: update (own namespace)", "pods/eviction: create", "pods: list"}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("used rights (-want +got):\n%s", difference)
	}
	if difference := cmp.Diff([]string{"secrets: list", "system:serviceaccount:memcached-operator-system:memcached-operator-installer list /api/v1/pods"}, refused); difference != "" {
		t.Errorf("denied (-want +got):\n%s", difference)
	}
}

func TestEveryRightIsUsedOrExplained(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []v1alpha1.StrategyDeploymentPermissions{{Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "secrets"}, Verbs: []string{"list", "watch"}},
	}}}
	csv.Spec.InstallStrategy.StrategySpec.Permissions = []v1alpha1.StrategyDeploymentPermissions{{Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	}}}
	recorded := record{
		Used:   []string{"pods: list", "pods: watch (own namespace)", "services: get"},
		Unused: []unused{{"a reason", []string{"secrets: list", "nodes: get"}}, {"another one", []string{"pods: list"}}},
	}
	err := recorded.compare(granted(csv))
	if err == nil {
		t.Fatal("nothing was found")
	}
	var got []string
	for finding := range strings.Lines(err.Error()) {
		got = append(got, finding[:strings.Index(finding, "; ")])
	}
	want := []string{
		"configmaps: get (own namespace): granted, but no test uses it", "nodes: get: explained, but not granted",
		"pods: list: explained, but used", "secrets: watch: granted, but no test uses it", "services: get: used, but not granted any more",
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("findings (-want +got):\n%s", difference)
	}
}

func TestUsedRightsAreAddedOnce(t *testing.T) {
	recorded := record{Used: []string{"pods: list"}, Unused: []unused{{"a reason", []string{"services: list"}}}}
	added := recorded.add([]right{
		{Resource: "pods", Verb: "list"}, {Resource: "pods", Verb: "list", Namespaced: true}, {Resource: "services", Verb: "list"},
		{Group: "apps", Resource: "deployments", Verb: "patch"},
	})
	if difference := cmp.Diff([]string{"apps deployments: patch"}, added); difference != "" {
		t.Errorf("added (-want +got):\n%s", difference)
	}
	file := filepath.Join(t.TempDir(), "rights.yaml")
	if err := recorded.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(file)
	if difference := cmp.Diff(recorded, got); err != nil || difference != "" {
		t.Errorf("%v, the record after it was written and read (-want +got):\n%s", err, difference)
	}
}
