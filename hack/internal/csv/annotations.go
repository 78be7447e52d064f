package csv

import (
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/example/memcached-operator/hack/project"
)

// features are the capabilities that catalogs filter by. Each is what this version really does: it reaches nothing
// outside the cluster, so a mirrored catalog is all that a disconnected cluster needs; the others are not there.
var features = map[string]string{
	"disconnected":     "true",
	"fips-compliant":   "false",
	"proxy-aware":      "false",
	"tls-profiles":     "false",
	"token-auth-aws":   "false",
	"token-auth-azure": "false",
	"token-auth-gcp":   "false",
	"cnf":              "false",
	"cni":              "false",
	"csi":              "false",
}

const uninstallMessage = "The operator is being removed. Caches and applications keep running, without being looked after: their resources, " +
	"the definitions and the pods stay. Delete them with " +
	"`kubectl delete applications.app.example.com,memcacheds.cache.example.com --all --all-namespaces --cascade=foreground` and then " +
	"`kubectl delete crd applications.app.example.com memcacheds.cache.example.com`; cached items are lost then."

// annotations are the CSV's annotations. Order does not matter: they are sorted when written.
func annotations(in Inputs) (map[string]string, error) {
	if err := matchExamples(in); err != nil {
		return nil, err
	}
	examples := make([]map[string]any, 0, len(in.Examples))
	for _, e := range in.Examples {
		examples = append(examples, e.Object)
	}
	almExamples, err := json.MarshalIndent(examples, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode alm-examples: %w", err)
	}
	first, err := json.Marshal(in.Examples[0].Object)
	if err != nil {
		return nil, fmt.Errorf("encode the initialization resource: %w", err)
	}
	namespace, err := json.Marshal(NamespaceManifest())
	if err != nil {
		return nil, fmt.Errorf("encode the namespace template: %w", err)
	}
	all := map[string]string{
		"alm-examples": string(almExamples),
		// What each level asks for is walked by olm/e2e: upgrades of operator and operand (edges_test.go, upgrade_*_test.go), the whole
		// life of a cache from resizing to evictions and mistakes (production_*_test.go), metrics and alerts
		// (monitoring_test.go). Auto Pilot would be to tune and scale by itself, which it does not.
		"capabilities":   "Deep Insights",
		"categories":     "Database, Application Runtime",
		"containerImage": in.OperatorImage,
		"createdAt":      in.CreatedAt.UTC().Format(time.RFC3339),
		"description":    "Runs Memcached caches and the web applications that use them: declare them, and they are kept that way.",
		"repository":     project.SourceURL,
		"support":        "Memcached Operator maintainers",
		// Nothing of ours waits for a finalizer, so deleting operands along with the operator is safe.
		"console.openshift.io/disable-operand-delete":       "false",
		"operator.openshift.io/uninstall-message":           uninstallMessage,
		"operatorframework.io/initialization-resource":      string(first),
		"operatorframework.io/suggested-namespace-template": string(namespace),
	}
	for feature, value := range features {
		all["features.operators.openshift.io/"+feature] = value
	}
	return all, nil
}

// NamespaceManifest is the namespace that the operator is best installed in. Its pods satisfy the restricted pod
// security standard, so nothing weaker is allowed there.
func NamespaceManifest() map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata": map[string]any{
			"name": project.Namespace,
			"labels": map[string]any{
				"pod-security.kubernetes.io/enforce": "restricted",
				"pod-security.kubernetes.io/audit":   "restricted",
				"pod-security.kubernetes.io/warn":    "restricted",
			},
		},
	}
}

// matchExamples makes sure of an example for every served version of every definition. Consoles and the scorecard take
// several of a kind, and begin with the first.
func matchExamples(in Inputs) error {
	want := sets.New[schema.GroupVersionKind]()
	for _, crd := range in.CRDs {
		for _, v := range servedVersions(crd) {
			want.Insert(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
		}
	}
	have, names := sets.New[schema.GroupVersionKind](), sets.New[string]()
	for _, e := range in.Examples {
		have.Insert(e.GroupVersionKind())
		name := e.GetAPIVersion() + " " + e.GetKind() + " " + e.GetName()
		if names.Has(name) {
			return fmt.Errorf("there are two examples %s: rename one of them below olm/samples", name)
		}
		names.Insert(name)
	}
	for gvk := range want.Difference(have) {
		return fmt.Errorf("no example of %s: add one below olm/samples", gvk)
	}
	for gvk := range have.Difference(want) {
		return fmt.Errorf("the example %s has no custom resource definition that serves it", gvk)
	}
	if len(in.Examples) == 0 {
		return fmt.Errorf("no example at all: there is no custom resource definition to show one of")
	}
	return nil
}

func servedVersions(crd apiextensionsv1.CustomResourceDefinition) []apiextensionsv1.CustomResourceDefinitionVersion {
	var served []apiextensionsv1.CustomResourceDefinitionVersion
	for _, v := range crd.Spec.Versions {
		if v.Served {
			served = append(served, v)
		}
	}
	return served
}
