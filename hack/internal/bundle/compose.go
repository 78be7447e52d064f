package bundle

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

// Compose reads the operator's source and the samples of the checkout at root, and returns the files of the bundle.
func Compose(root string, pins csv.Pins) (checkout.Files, error) {
	objects, err := ReadMarkers(root, "./operator/...")
	if err != nil {
		return nil, err
	}
	examples, err := readExamples(root)
	if err != nil {
		return nil, err
	}
	composed, err := csv.Compose(csv.Inputs{Pins: pins, Objects: *objects, Examples: examples})
	if err != nil {
		return nil, err
	}
	files := map[string]any{
		project.CSVFile:               composed,
		"metadata/annotations.yaml":   map[string]any{"annotations": labels()},
		"tests/scorecard/config.yaml": scorecard(pins.ScorecardImage),
		"manifests/" + project.MetricsService + "_v1_service.yaml": metricsService(),
	}
	roles := []rbacv1.ClusterRole{metricsReader()}
	for _, crd := range objects.CRDs {
		files[fmt.Sprintf("manifests/%s_%s.yaml", crd.Spec.Group, crd.Spec.Names.Plural)] = crd
		roles = append(roles, editor(crd), viewer(crd))
	}
	for _, role := range roles {
		files[fmt.Sprintf("manifests/%s_rbac.authorization.k8s.io_v1_clusterrole.yaml", role.Name)] = role
	}
	out := checkout.Files{}
	for name, object := range files {
		if out[name], err = Encode(object); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// readExamples reads the samples that are examples of the bundle: olm/samples/<group>_<version>_<kind>.yaml, in lower
// case and with the first label of the group, and <group>_<version>_<kind>_<purpose>.yaml. Caches come first: a console
// offers to create the first example after the installation.
func readExamples(root string) ([]unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(root, "olm", "samples", "*_v*_*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list the samples: %w", err)
	}
	slices.SortFunc(paths, func(a, b string) int {
		order := func(path string) int {
			if strings.HasPrefix(filepath.Base(path), "cache_") {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b))
	})
	examples := make([]unstructured.Unstructured, len(paths))
	for i, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a sample: %w", err)
		}
		if err := yaml.Unmarshal(content, &examples[i].Object); err != nil {
			return nil, fmt.Errorf("%s is not a YAML object: %w", path, err)
		}
	}
	return examples, nil
}
