package bundle

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/example/memcached-operator/hack/project"
)

// InstallerName is the name of the ServiceAccount with which OLM v1 installs the operator, and of its roles.
const InstallerName = project.Package + "-installer"

// olmv1Group is the API group of OLM v1.
const olmv1Group = "olm.operatorframework.io"

// Installer returns the ServiceAccount with which OLM v1 installs the bundles and upgrades from one to another, with no more rights than
// that needs: to write the objects of the bundles, to watch their kinds, and all rights that the bundles grant, because nobody may grant
// more than they have.
func Installer(bundles ...*manifests.Bundle) ([]any, error) {
	names := objectNames{}
	var granted []rbacv1.PolicyRule
	for _, bundle := range bundles {
		rules, err := names.add(bundle)
		if err != nil {
			return nil, err
		}
		granted = append(granted, rules...)
	}
	cluster := []rbacv1.PolicyRule{{
		APIGroups: []string{olmv1Group}, Resources: []string{"clusterextensions/finalizers"}, ResourceNames: []string{project.Package}, Verbs: []string{"update"},
	}}
	var space []rbacv1.PolicyRule
	for _, kind := range []struct {
		group, resource string
		namespaced      bool
		verbs           []string // Of named objects.
	}{
		{"apiextensions.k8s.io", "customresourcedefinitions", false, []string{"get", "patch"}}, // Never delete: caches would go with them.
		{rbacv1.GroupName, "clusterroles", false, []string{"get", "patch", "delete"}},          // A new release has other names.
		{rbacv1.GroupName, "clusterrolebindings", false, []string{"get", "patch", "delete"}},
		{corev1.GroupName, "serviceaccounts", true, []string{"get", "patch"}},
		{corev1.GroupName, "services", true, []string{"get", "patch"}},
		{appsv1.GroupName, "deployments", true, []string{"get", "patch"}},
	} {
		rule := func(verbs []string, names ...string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{APIGroups: []string{kind.group}, Resources: []string{kind.resource}, Verbs: verbs, ResourceNames: names}
		}
		own := []rbacv1.PolicyRule{rule([]string{"create"}), rule(kind.verbs, sets.List(names[kind.resource])...)}
		cluster = append(cluster, rule([]string{"list", "watch"}))
		if kind.namespaced {
			space = append(space, own...)
		} else {
			cluster = append(cluster, own...)
		}
	}
	return installerObjects(distinct(append(cluster, granted...)), space), nil
}

// objectNames are the names of objects that OLM v1 makes of bundles, by resource.
type objectNames map[string]sets.Set[string]

// add adds the names of a bundle's objects, and returns the rules that the bundle grants.
func (n objectNames) add(bundle *manifests.Bundle) (granted []rbacv1.PolicyRule, err error) {
	note := func(resource, name string) {
		if n[resource] == nil {
			n[resource] = sets.New[string]()
		}
		n[resource].Insert(name)
	}
	for _, crd := range bundle.V1CRDs {
		note("customresourcedefinitions", crd.Name)
	}
	for _, object := range bundle.Objects {
		switch object.GetKind() {
		case "ClusterRole":
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				return nil, fmt.Errorf("read the ClusterRole %s: %w", object.GetName(), err)
			}
			note("clusterroles", role.Name)
			granted = append(granted, role.Rules...)
		case "Service":
			note("services", object.GetName())
		}
	}
	strategy := bundle.CSV.Spec.InstallStrategy.StrategySpec
	for _, deployment := range strategy.DeploymentSpecs {
		note("deployments", deployment.Name)
	}
	for _, permission := range slices.Concat(strategy.ClusterPermissions, strategy.Permissions) {
		name, err := generatedName(bundle.CSV.Name, permission)
		if err != nil {
			return nil, err
		}
		note("serviceaccounts", permission.ServiceAccountName)
		note("clusterroles", name)
		note("clusterrolebindings", name)
		granted = append(granted, permission.Rules...)
	}
	return granted, nil
}

// distinct removes rules that are there twice.
func distinct(rules []rbacv1.PolicyRule) (found []rbacv1.PolicyRule) {
	for _, rule := range rules {
		if !slices.ContainsFunc(found, func(other rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(rule, other) }) {
			found = append(found, rule)
		}
	}
	return found
}

// generatedName returns the name that OLM v1 gives to the ClusterRole and the ClusterRoleBinding of a permission
// (internal/operator-controller/rukpak/convert in operator-controller v1.2.0): a digest of the permission, in base 36.
func generatedName(csv string, permission v1alpha1.StrategyDeploymentPermissions) (string, error) {
	const maxLength = 63
	raw, err := json.Marshal(permission)
	if err != nil {
		return "", fmt.Errorf("encode a permission of %s: %w", csv, err)
	}
	sum := sha256.Sum224(append(raw, '\n')) // As json.Encoder writes it.
	digest := new(big.Int).SetBytes(sum[:]).Text(36)
	base := csv + "-" + permission.ServiceAccountName
	return base[:min(len(base), maxLength-len(digest)-1)] + "-" + digest, nil
}

func installerObjects(cluster, space []rbacv1.PolicyRule) []any {
	meta := func(kind, namespace string) (metav1.TypeMeta, metav1.ObjectMeta) {
		version := rbacv1.SchemeGroupVersion.String()
		if kind == rbacv1.ServiceAccountKind {
			version = corev1.SchemeGroupVersion.String()
		}
		return metav1.TypeMeta{APIVersion: version, Kind: kind}, metav1.ObjectMeta{Name: InstallerName, Namespace: namespace}
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: InstallerName, Namespace: project.Namespace}}
	var account corev1.ServiceAccount
	account.TypeMeta, account.ObjectMeta = meta(rbacv1.ServiceAccountKind, project.Namespace)
	clusterRole := rbacv1.ClusterRole{Rules: cluster}
	clusterRole.TypeMeta, clusterRole.ObjectMeta = meta("ClusterRole", "")
	clusterBinding := rbacv1.ClusterRoleBinding{Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: InstallerName}}
	clusterBinding.TypeMeta, clusterBinding.ObjectMeta = meta("ClusterRoleBinding", "")
	role := rbacv1.Role{Rules: space}
	role.TypeMeta, role.ObjectMeta = meta("Role", project.Namespace)
	binding := rbacv1.RoleBinding{Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: InstallerName}}
	binding.TypeMeta, binding.ObjectMeta = meta("RoleBinding", project.Namespace)
	return []any{account, clusterRole, clusterBinding, role, binding}
}
