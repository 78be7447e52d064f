package making_test

import (
	"context"
	"os"
	"os/exec"
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

// unreleased is a checkout like this one, of which nothing is released yet, with everything committed.
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
	write(t, root, catalog.TemplateFile, `schema: olm.template.basic
entries:
- {schema: olm.package, name: memcached-operator, defaultChannel: candidate}
- schema: olm.channel
  package: memcached-operator
  name: candidate
  entries: []
`)
	current, err := bundle.Compare(root, version)
	if err != nil {
		t.Fatal(err)
	}
	if err := current.Write(); err != nil {
		t.Fatal(err)
	}
	git(t, root, "init", "-q", "-b", "main")
	commit(t, root)
	return root
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "x")
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func builder(root string) build.Builder {
	return build.Builder{
		Root: root, Engine: testkit.FakeEngine{},
		Compile: func(_ context.Context, _, pkg, output, version string) error {
			return os.WriteFile(output, []byte(pkg+version), 0o600)
		},
	}
}

// One test walks the life of a release, because each step needs the one before it and reading the source is slow.
func TestALifeOfARelease(t *testing.T) {
	root := unreleased(t)
	check := func() (*making.Plan, error) { return making.Check(t.Context(), root, version, []string{"candidate"}) }

	write(t, root, "stray", "")
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "?? stray") {
		t.Errorf("a checkout with a stray file: %v", err)
	}
	if err := os.Remove(filepath.Join(root, "stray")); err != nil {
		t.Fatal(err)
	}

	sample := "olm/samples/cache_v1alpha1_memcached.yaml"
	content, err := os.ReadFile(filepath.Join(root, sample))
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, sample, strings.Replace(string(content), "size: 2", "size: 4", 1))
	commit(t, root)
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "is not what the source gives") {
		t.Errorf("a bundle that is not current: %v", err)
	}
	write(t, root, sample, string(content))
	commit(t, root)

	plan, err := check()
	if err != nil {
		t.Fatal(err)
	}
	release, err := plan.Make(t.Context(), builder(root))
	if err != nil {
		t.Fatal(err)
	}
	if release.Commit != plan.Head.Commit || release.Go == "" || !strings.HasPrefix(release.OperatorImage, project.OperatorImage+"@sha256:") {
		t.Errorf("the record is incomplete: %+v", release)
	}
	assertReleased(t, root, release)
	commit(t, root)

	if _, err := check(); err == nil || !strings.Contains(err.Error(), "is released already") {
		t.Errorf("releasing it again: %v", err)
	}
	write(t, root, project.BundleDir(version)+"/metadata/annotations.yaml", "annotations: {}\n")
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
	csv, err := os.ReadFile(filepath.Join(root, project.BundleDir(version), "manifests", project.Package+".clusterserviceversion.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(csv), project.Tagged(project.OperatorImage, version)) || !strings.Contains(string(csv), release.OperatorImage) {
		t.Error("the bundle does not refer to the operator by digest")
	}
	if err := bundle.Validate(filepath.Join(root, project.BundleDir(version))); err != nil {
		t.Error(err)
	}
	current, err := bundle.Compare(root, version)
	if err != nil {
		t.Fatal(err)
	}
	if err := current.Check(); err != nil || !current.Released {
		t.Errorf("the frozen bundle is not what the source gives: %v", err)
	}
	rendered, err := catalog.RenderCheckout(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Check(root, rendered); err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(rendered), "image: "+release.BundleImage) {
		t.Error("the catalog lacks the bundle")
	}
}

func TestVersionsThatCannotBeReleased(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "catalog"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, root, record.File, "releases:\n- version: 0.0.1\n- version: 0.0.5\n")
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

func TestABundleThatNobodyKnowsIsFound(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"catalog", "bundles/v7.7.7"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, catalog.TemplateFile, "schema: olm.template.basic\nentries:\n- {schema: olm.bundle, image: x@sha256:1}\n")
	_, err := making.Verify(root)
	for _, want := range []string{"bundles/v7.7.7 is neither released", "x@sha256:1, which is no release"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
