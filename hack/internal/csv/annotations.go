package csv

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/example/memcached-operator/hack/project"
)

// features are the capabilities that catalogs filter by. The operator uses nothing outside the cluster, so it runs on a
// disconnected cluster with a mirrored catalog. It has none of the other features.
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

const uninstallMessage = "The operator is being removed. Its CRDs, caches, applications and pods stay and keep running without it. Delete them with " +
	"`kubectl delete applications.app.example.com,memcacheds.cache.example.com --all --all-namespaces --cascade=foreground` and then " +
	"`kubectl delete crd applications.app.example.com memcacheds.cache.example.com`. This loses the cached items."

// annotations are the annotations of the ClusterServiceVersion.
func annotations(in Inputs) (map[string]string, error) {
	if err := checkExamples(in.Examples); err != nil {
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
		// olm/e2e tests what the levels up to this one require: upgrades of operator and operand (upgrade*_test.go), the
		// lifecycle of a cache from resizing to evictions and invalid input (production*_test.go), metrics and alerts
		// (monitoring*_test.go). The operator does not tune or scale caches by itself, which Auto Pilot requires.
		"capabilities":   "Deep Insights",
		"categories":     "Database, Application Runtime",
		"containerImage": in.OperatorImage,
		"createdAt":      in.CreatedAt.UTC().Format(time.RFC3339),
		"description":    "Runs Memcached caches and the web applications that use them.",
		"repository":     project.SourceURL,
		"support":        "Memcached Operator maintainers",
		// Operands have no finalizers, so deleting them together with the operator is safe.
		"console.openshift.io/disable-operand-delete":       "false",
		"operator.openshift.io/uninstall-message":           uninstallMessage,
		"operatorframework.io/initialization-resource":      string(first),
		"operatorframework.io/suggested-namespace-template": string(namespace),
	}
	if in.Replaces != "" {
		all["olm.skipRange"] = project.SkipRange(in.Version)
	}
	for feature, value := range features {
		all["features.operators.openshift.io/"+feature] = value
	}
	return all, nil
}

// NamespaceManifest is the suggested namespace of the operator. It enforces the restricted pod security standard, which
// the operator's pods satisfy.
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

// checkExamples checks that there are examples, and that no two have the same name. Validators of bundles check that they
// match the CRDs.
func checkExamples(examples []unstructured.Unstructured) error {
	if len(examples) == 0 {
		return errors.New("there is no example: add one of every kind to olm/samples")
	}
	names := sets.New[string]()
	for _, e := range examples {
		name := e.GetAPIVersion() + " " + e.GetKind() + " " + e.GetName()
		if names.Has(name) {
			return fmt.Errorf("there are two examples %s: rename one of them in olm/samples", name)
		}
		names.Insert(name)
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
