// Package verify validates a bundle directory with the operator framework's own validators. A warning counts as a
// failure: every one of them is something that a catalog's reviewers, or its users, would run into.
package bundle

import (
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/example/memcached-operator/hack/project"
)

// validators are all that the library has for bundles, except the one for several architectures: it pulls every
// image with docker, and an image for a single architecture gives it nothing to compare.
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

// installable are the kinds, beside the ClusterServiceVersion and its definitions, that OLM v0.46 and the community
// catalogs take and that do not depend on another operator's definitions. A PodMonitor fails in OLM, a NetworkPolicy
// in the catalogs' pipeline, a ServiceMonitor wherever Prometheus' operator is missing.
var installable = map[string]bool{
	"ClusterRole": true, "ClusterRoleBinding": true, "ConfigMap": true, "CustomResourceDefinition": true,
	"ClusterServiceVersion": true, "PodDisruptionBudget": true, "PriorityClass": true, "Role": true,
	"RoleBinding": true, "Service": true,
}

// Validate validates the bundle in dir. The error names every finding.
func Validate(dir string) error {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return fmt.Errorf("%s cannot be read as a bundle: %w", dir, err)
	}
	var findings []string
	for _, object := range bundle.Objects {
		if !installable[object.GetKind()] {
			findings = append(findings, fmt.Sprintf("%s %s: a bundle that installs everywhere cannot hold this kind",
				object.GetKind(), object.GetName()))
		}
	}
	// The library takes options as one more object: the newest release this is tested with, to find removed APIs.
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
