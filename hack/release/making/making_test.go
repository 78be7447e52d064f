package making_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/hack/release/making"
)

const version = project.Version

// unreleased is a copy of this checkout without releases, and with everything committed.
func unreleased(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := checkout.Copy(t.Context(), "../../..", root); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{record.File, filepath.Dir(catalog.File), "bundles"} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, root, catalog.TemplateFile, `schema: olm.template.basic
entries:
- {schema: olm.package, name: memcached-operator, defaultChannel: candidate}
- schema: olm.channel
  package: memcached-operator
  name: candidate
  entries: []
`)
	current := testkit.Must(bundle.Compare(root, version))(t)
	if err := current.Write(); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, root)
	return root
}

func builder(root string) build.Builder {
	return build.Builder{
		Root: root, Engine: testkit.FakeEngine{},
		Compile: func(_ context.Context, _, pkg, output, version string, _ ...string) error {
			return os.WriteFile(output, []byte(pkg+version), 0o600)
		},
	}
}

// One test covers the life of a release, because each step needs the one before it and reading the source is slow.
func TestLifeOfARelease(t *testing.T) {
	root := unreleased(t)
	check := func() (*making.Plan, error) { return making.Check(t.Context(), root, version, []string{"candidate"}) }

	testkit.WriteFile(t, root, "stray", "")
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "?? stray") {
		t.Errorf("a checkout with a stray file: %v", err)
	}
	if err := os.Remove(filepath.Join(root, "stray")); err != nil {
		t.Fatal(err)
	}

	sample := "olm/samples/cache_v1alpha1_memcached.yaml"
	content := testkit.ReadFile(t, root, sample)
	testkit.WriteFile(t, root, sample, strings.Replace(content, "size: 2", "size: 4", 1))
	testkit.Commit(t, root)
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "is not what the source gives") {
		t.Errorf("a bundle that is not current: %v", err)
	}
	testkit.WriteFile(t, root, sample, content)
	testkit.Commit(t, root)

	plan := testkit.Must(check())(t)
	release := testkit.Must(plan.Make(t.Context(), builder(root)))(t)
	if release.Commit != plan.Head.Commit || release.Go == "" || !strings.HasPrefix(release.OperatorImage, project.OperatorImage+"@sha256:") {
		t.Errorf("the record is incomplete: %+v", release)
	}
	assertReleased(t, root, release)
	testkit.Commit(t, root)

	if _, err := check(); err == nil || !strings.Contains(err.Error(), "is released already") {
		t.Errorf("releasing it again: %v", err)
	}
	testkit.WriteFile(t, root, project.BundleDir(version)+"/metadata/annotations.yaml", "annotations: {}\n")
	if _, err := making.Verify(root); err == nil || !strings.Contains(err.Error(), "metadata/annotations.yaml has changed") {
		t.Errorf("a changed release: %v", err)
	}
	if _, err := bundle.Compare(root, version); err == nil || !strings.Contains(err.Error(), "frozen") {
		t.Errorf("composing a changed release: %v", err)
	}
}

func assertReleased(t *testing.T, root string, release *record.Release) {
	t.Helper()
	if versions, err := making.Verify(root); err != nil || len(versions) != 1 {
		t.Errorf("right after the release: %v, %v", versions, err)
	}
	csv := testkit.ReadFile(t, root, project.BundleDir(version)+"/"+project.CSVFile)
	if strings.Contains(csv, project.Tagged(project.OperatorImage, version)) || !strings.Contains(csv, release.OperatorImage) {
		t.Error("the bundle does not refer to the operator by digest")
	}
	if err := bundle.Validate(filepath.Join(root, project.BundleDir(version))); err != nil {
		t.Error(err)
	}
	current := testkit.Must(bundle.Compare(root, version))(t)
	if err := current.Check(); err != nil || !current.Released {
		t.Errorf("the frozen bundle is not what the source gives: %v", err)
	}
	rendered := testkit.Must(catalog.RenderCheckout(t.Context(), root))(t)
	if err := catalog.Check(root, rendered); err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(rendered), "image: "+release.BundleImage) {
		t.Error("the catalog lacks the bundle")
	}
}

func TestCheckRefusesVersions(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "catalog"), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, root, record.File, "releases:\n- version: 0.0.1\n- version: 0.0.5\n")
	for version, want := range map[string]string{
		"v1.0.0":    "without a leading v",
		"1.0":       "not a semantic version",
		"1.0.0+abc": "build metadata",
		"0.0.5":     "is released already",
		"0.0.4":     "not greater than v0.0.5",
		"99.0.0":    "the version under development is " + project.Version,
	} {
		if _, err := making.Check(t.Context(), root, version, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", version, err, want)
		}
	}
}

func TestVerifyFindsUnknownBundles(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"catalog", "bundles/v7.7.7"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, root, catalog.TemplateFile, "schema: olm.template.basic\nentries:\n- {schema: olm.bundle, image: x@sha256:1}\n")
	_, err := making.Verify(root)
	for _, want := range []string{"bundles/v7.7.7 is neither released", "x@sha256:1, which is no release"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
