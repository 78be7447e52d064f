package bundle_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
)

// dir is the bundle of the version under development.
const dir = root + "/bundles/v" + project.Version

func TestBundleOfThisCheckoutIsValid(t *testing.T) {
	if err := bundle.Validate(dir); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesFindings(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(checkout.Files)
		want  string
	}{
		"a warning is a failure": {
			func(f checkout.Files) { replace(f, "minKubeVersion: "+project.MinKubeVersion, "") }, "minKubeVersion",
		},
		"an example of a kind that is not owned": {
			func(f checkout.Files) { replace(f, `"kind": "Memcached"`, `"kind": "Teapot"`) }, "Teapot",
		},
		"a kind without an example": {
			func(f checkout.Files) { replace(f, `"kind": "Memcached"`, `"kind": "Teapot"`) }, "provided API should have an example annotation",
		},
		"an owned definition that is not there": {
			func(f checkout.Files) { delete(f, "manifests/cache.example.com_memcacheds.yaml") }, "owned CRD",
		},
		"a kind that does not install everywhere": {
			func(f checkout.Files) {
				f["manifests/monitor.yaml"] = []byte("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata:\n  name: m\n")
			}, "ServiceMonitor m",
		},
		"an unknown category": {
			func(f checkout.Files) { replace(f, "categories: Database", "categories: Cachebase") }, "Cachebase",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := checkout.ReadFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			test.spoil(files)
			spoiled := t.TempDir()
			if _, err := files.Write(spoiled); err != nil {
				t.Fatal(err)
			}
			if err := bundle.Validate(spoiled); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// replace changes the ClusterServiceVersion.
func replace(files checkout.Files, from, to string) {
	files[project.CSVFile] = []byte(strings.ReplaceAll(string(files[project.CSVFile]), from, to))
}
