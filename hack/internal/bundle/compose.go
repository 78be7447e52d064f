package bundle

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

// Pins are the facts of a version that do not follow from its source.
type Pins struct {
	// Version is the semantic version, without a leading v.
	Version string
	// Replaces is the version before it, empty for the first.
	Replaces string
	// CreatedAt is when it was released; the Unix epoch while it is not.
	CreatedAt time.Time
	// OperatorImage and ScorecardImage are references; by digest in a release.
	OperatorImage, ScorecardImage string
}

// Unreleased pins a version that is still being worked on: images by the tag of the version.
func Unreleased(version, replaces string) Pins {
	return Pins{
		Version: version, Replaces: replaces, CreatedAt: time.Unix(0, 0),
		OperatorImage:  project.Tagged(project.OperatorImage, version),
		ScorecardImage: project.Tagged(project.ScorecardImage, version),
	}
}

// Compose reads the operator's source and the samples below root (the checkout) and returns the bundle's files.
func Compose(root string, pins Pins) (checkout.Files, error) {
	objects, err := ReadMarkers(root, "./operator/...")
	if err != nil {
		return nil, err
	}
	examples, err := readExamples(root)
	if err != nil {
		return nil, err
	}
	composed, err := csv.Compose(csv.Inputs{
		Version: pins.Version, Replaces: pins.Replaces, CreatedAt: pins.CreatedAt, OperatorImage: pins.OperatorImage,
		CRDs: objects.CRDs, ClusterRules: objects.ClusterRules, NamespaceRules: objects.NamespaceRules,
		Examples: examples,
	})
	if err != nil {
		return nil, err
	}
	files := map[string]any{
		"manifests/" + project.Package + ".clusterserviceversion.yaml": composed,
		"metadata/annotations.yaml":                                    map[string]any{"annotations": Labels()},
		"tests/scorecard/config.yaml":                                  scorecard(pins.ScorecardImage),
	}
	for _, crd := range objects.CRDs {
		files[fmt.Sprintf("manifests/%s_%s.yaml", crd.Spec.Group, crd.Spec.Names.Plural)] = crd
		editor, viewer := roles(crd)
		files[roleFile(editor)], files[roleFile(viewer)] = editor, viewer
	}
	files["manifests/"+project.MetricsService+"_v1_service.yaml"] = metricsService()
	reader := metricsReader()
	files[roleFile(reader)] = reader

	out := checkout.Files{}
	for name, object := range files {
		if out[name], err = Encode(object); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// firstSamples begins the names of the samples that come before all others: the first example is what a console offers
// to create once the operator is installed, and the operator is there for caches.
const firstSamples = "cache_"

// readExamples reads olm/samples/<group>_<version>_<kind>.yaml: group without its domain, all in lower case; further
// examples of a kind end in _<purpose>.yaml, and come after. Other files there are samples too, but not examples of the
// bundle.
func readExamples(root string) ([]unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(root, "olm", "samples", "*_v*_*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list the samples: %w", err)
	}
	slices.SortFunc(paths, func(a, b string) int {
		first := func(path string) int {
			if strings.HasPrefix(filepath.Base(path), firstSamples) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a, b))
	})
	var examples []unstructured.Unstructured
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a sample: %w", err)
		}
		var example unstructured.Unstructured
		if err := yaml.Unmarshal(content, &example.Object); err != nil {
			return nil, fmt.Errorf("%s is not a YAML object: %w", path, err)
		}
		examples = append(examples, example)
	}
	return examples, nil
}
