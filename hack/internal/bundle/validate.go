package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/example/memcached-operator/hack/project"
)

// validators are all validators of the library that apply to bundles, except the one for several architectures. That one
// pulls every image with docker, and finds nothing to compare in images for a single architecture.
var validators = validator.Validators{
	validation.ClusterServiceVersionValidator,
	validation.CustomResourceDefinitionValidator,
	validation.BundleValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCategoriesValidator,
	validation.StandardCapabilitiesValidator,
	validation.ObjectValidator,
	validation.OperatorGroupValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
	validation.CommunityOperatorValidator, // Deprecated, but catalogs still run it.
}

// installable are the kinds that OLM v0.46 and the community catalogs accept and that need no CRD of another operator.
// OLM fails on a PodMonitor, the pipeline of the catalogs on a NetworkPolicy, and a cluster without the Prometheus
// operator on a ServiceMonitor.
var installable = []string{
	"ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "CustomResourceDefinition",
	"PodDisruptionBudget", "PriorityClass", "Role", "RoleBinding", "Service",
}

// Validate validates the bundle in dir with the operator framework's validators. A warning is a failure too, because
// reviewers of catalogs and users would run into it. The error names every finding.
func Validate(dir string) error {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return fmt.Errorf("%s cannot be read as a bundle: %w", dir, err)
	}
	var findings []string
	for _, object := range bundle.Objects {
		if !slices.Contains(installable, object.GetKind()) {
			findings = append(findings, fmt.Sprintf("%s %s: a bundle that installs everywhere cannot hold this kind",
				object.GetKind(), object.GetName()))
		}
	}
	// The library takes options as one more object. This one makes it look for APIs that this Kubernetes has removed.
	objects := append(bundle.ObjectsToValidate(), map[string]string{"k8s-version": project.KubeVersion})
	for _, result := range validators.Validate(objects...) {
		for _, finding := range append(result.Errors, result.Warnings...) {
			findings = append(findings, fmt.Sprintf("%s: %s", result.Name, finding.Error()))
		}
	}
	if len(findings) > 0 {
		return fmt.Errorf("%s is not valid:\n  %s", dir, strings.Join(findings, "\n  "))
	}
	return nil
}
