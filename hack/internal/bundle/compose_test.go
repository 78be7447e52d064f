package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
)

const root = "../../.."

// compose composes the bundle of this checkout, once for all tests because it takes seconds.
var compose = sync.OnceValues(func() (checkout.Files, error) { return bundle.Compose(root, bundle.Unreleased("9.9.9", "9.9.8")) })

func TestComposeIsDeterministic(t *testing.T) {
	first := testkit.Must(compose())(t)
	second := testkit.Must(bundle.Compose(root, bundle.Unreleased("9.9.9", "9.9.8")))(t)
	if names := first.Differences(second); len(names) > 0 {
		t.Errorf("these files differ between two runs: %v", names)
	}
}

func TestBundleHasManifestsMetadataAndTests(t *testing.T) {
	files := testkit.Must(compose())(t)
	for _, name := range []string{
		project.CSVFile,
		"manifests/app.example.com_applications.yaml",
		"manifests/cache.example.com_memcacheds.yaml",
		"manifests/memcached-operator-controller-manager-metrics-service_v1_service.yaml",
		"manifests/memcached-operator-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"manifests/memcached-operator-application-editor-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"manifests/memcached-operator-application-viewer-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"manifests/memcached-operator-memcached-editor-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"manifests/memcached-operator-memcached-viewer-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
		"metadata/annotations.yaml",
		"tests/scorecard/config.yaml",
	} {
		if len(files[name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestExamplesBeginWithACache(t *testing.T) {
	files := testkit.Must(compose())(t)
	var csv struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal(files[project.CSVFile], &csv); err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal([]byte(csv.Metadata.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, example := range examples {
		got = append(got, example.Kind+" "+example.Metadata.Name)
	}
	want := []string{"Memcached memcached-sample", "Memcached memcached-production", "Application application-sample"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBundleContainsThePins(t *testing.T) {
	pins := csv.Pins{
		Version: "9.9.9", Replaces: "9.9.8", CreatedAt: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		OperatorImage: "quay.io/example/memcached-operator@sha256:aaa", ScorecardImage: "quay.io/example/memcached-operator-scorecard@sha256:bbb",
	}
	files := testkit.Must(bundle.Compose(root, pins))(t)
	csv := string(files[project.CSVFile])
	for _, want := range []string{
		"name: memcached-operator.v9.9.9", "replaces: memcached-operator.v9.9.8", `createdAt: "2026-05-04T03:02:01Z"`,
		"containerImage: " + pins.OperatorImage, "image: " + pins.OperatorImage, "name: AGENT_IMAGE\n                  value: " + pins.OperatorImage,
	} {
		if !strings.Contains(csv, want) {
			t.Errorf("the ClusterServiceVersion lacks %q", want)
		}
	}
	if strings.Contains(csv, "memcached-operator:v9.9.9") {
		t.Error("the ClusterServiceVersion still refers to an image by tag")
	}
	if config := string(files["tests/scorecard/config.yaml"]); !strings.Contains(config, pins.ScorecardImage) {
		t.Errorf("the scorecard's configuration lacks %s:\n%s", pins.ScorecardImage, config)
	}
}

// OLM and opm read the labels of the image, and the library reads the file. Both must be the same.
func TestBundleImageHasTheLabelsOfTheMetadata(t *testing.T) {
	dockerfile, err := os.ReadFile(filepath.Join(root, "bundle.Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for line := range strings.Lines(string(dockerfile)) {
		if label, ok := strings.CutPrefix(strings.TrimSpace(line), "LABEL "); ok {
			name, value, _ := strings.Cut(label, "=")
			labels[name] = value
		}
	}
	files := testkit.Must(compose())(t)
	var metadata struct{ Annotations map[string]string }
	if err := yaml.Unmarshal(files["metadata/annotations.yaml"], &metadata); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metadata.Annotations, labels); diff != "" {
		t.Errorf("-metadata/annotations.yaml +bundle.Dockerfile:\n%s", diff)
	}
}
