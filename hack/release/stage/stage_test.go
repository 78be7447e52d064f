package stage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/hack/release/stage"
)

const (
	version = project.Version
	csvFile = project.CSVFile
)

// standIns stand in for every official image of memcached.
var standIns = func() project.StandIns {
	all := project.StandIns{}
	for i, official := range project.Operands() {
		all[official.Image] = project.OperandRepository + "@sha256:" + strings.Repeat(string(rune('a'+i)), 64)
	}
	return all
}()

// released is a stage of a checkout with one release. The images of its programs are kept, so nothing is compiled.
func released(t *testing.T) *stage.Stage {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := t.TempDir()
	s := &stage.Stage{
		Builder: build.Builder{Root: root, Engine: testkit.FakeEngine{}}, Out: t.TempDir(), Progress: t.Logf,
		Registry: project.Registry{Host: testkit.Registry(t)},
	}
	dir := filepath.Join(root, project.BundleDir(version))
	files := testkit.Must(checkout.ReadFiles("../../../" + project.BundleDir(version)))(t)
	testkit.Must(files.Write(dir))(t)
	release := record.Release{
		Version: version, Commit: "0123", OperatorImage: kept(t, project.OperatorImage), ScorecardImage: kept(t, project.ScorecardImage),
		BundleImage: reference(t, project.BundleImage, testkit.Must(s.Builder.Bundle(t.Context(), dir))(t)),
	}
	release.Bundle, release.Files = record.Hash(files)
	tree := checkout.Files{
		catalog.TemplateFile: []byte("schema: olm.template.basic\nentries:\n- {schema: olm.package, name: memcached-operator, defaultChannel: candidate}\n" +
			"- {schema: olm.channel, package: memcached-operator, name: candidate, entries: [{name: " + project.CSVName(version) +
			", skipRange: '" + project.SkipRange(version) + "'}]}\n" +
			"- {schema: olm.bundle, image: '" + release.BundleImage + "'}\n"),
		record.File: testkit.Must((&record.Record{Releases: []record.Release{release}}).Encode())(t),
		"olm/20-catalogsource.yaml": []byte("kind: CatalogSource\nspec:\n  image: " + project.CatalogImage + ":latest\n" +
			"  updateStrategy: {registryPoll: {interval: 10m}}\n"),
		"olm/30-subscription.yaml":      []byte("kind: Subscription\nspec: {installPlanApproval: Automatic}\n"),
		"olm/v1/10-clustercatalog.yaml": []byte("kind: ClusterCatalog\nspec: {source: {image: {ref: " + project.CatalogImage + ":latest}}}\n"),
		"olm/scorecard/ignored.yaml":    []byte("x"),
	}
	for name, content := range files {
		tree[project.BundleDir(version)+"/"+name] = content
	}
	testkit.Must(tree.Write(root))(t)
	return s
}

func kept(t *testing.T, repository string) string {
	t.Helper()
	return keepAs(t, func(digest v1.Hash) string { return repository + "@" + digest.String() })
}

func reference(t *testing.T, repository string, image v1.Image) string {
	t.Helper()
	return repository + "@" + testkit.Must(image.Digest())(t).String()
}

func assertPullable(t *testing.T, reference string) {
	t.Helper()
	if _, err := remote.Get(testkit.Must(name.ParseReference(reference))(t)); err != nil {
		t.Errorf("%s cannot be pulled: %v", reference, err)
	}
}

func TestMirrorGetsExactlyTheRelease(t *testing.T) {
	s := released(t)
	result := testkit.Must(s.Run(t.Context()))(t)
	recorded := testkit.Must(record.Load(s.Builder.Root))(t).Last()
	got := result.Versions[0]
	if got.OperatorImage != recorded.OperatorImage || got.ScorecardImage != recorded.ScorecardImage || got.BundleImage != recorded.BundleImage {
		t.Errorf("staged %+v, released %+v", got, recorded)
	}
	for _, reference := range []string{got.OperatorImage, got.ScorecardImage, got.BundleImage, result.CatalogImage} {
		assertPullable(t, strings.Replace(reference, "quay.io", s.Registry.Host, 1))
	}
	for name, want := range map[string]string{
		"olm/20-catalogsource.yaml":        string(testkit.Must(os.ReadFile(filepath.Join(s.Builder.Root, "olm", "20-catalogsource.yaml")))(t)),
		"olm-v1/10-clustercatalog.yaml":    string(testkit.Must(os.ReadFile(filepath.Join(s.Builder.Root, "olm", "v1", "10-clustercatalog.yaml")))(t)),
		"olm-pinned/20-catalogsource.yaml": "kind: CatalogSource\nspec:\n  image: " + result.CatalogImage + "\n",
		"olm-pinned/30-subscription.yaml":  "kind: Subscription\nspec:\n  installPlanApproval: Manual\n",
	} {
		if got := string(testkit.Must(os.ReadFile(filepath.Join(s.Out, name)))(t)); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestNewestOnlyBuildsNoProgramsOfOlderReleases(t *testing.T) {
	s := released(t)
	releases := testkit.Must(record.Load(s.Builder.Root))(t)
	older := releases.Releases[0] // Of a commit that is not there, so that its programs cannot be built.
	older.Version = "0.0.1"
	older.OperatorImage = project.OperatorImage + "@sha256:" + strings.Repeat("0", 64)
	files := testkit.Must(checkout.ReadFiles(filepath.Join(s.Builder.Root, project.BundleDir(version))))(t)
	testkit.Must(files.Write(filepath.Join(s.Builder.Root, project.BundleDir(older.Version))))(t)
	releases.Releases = append([]record.Release{older}, releases.Releases...)
	testkit.Must(0, releases.Save(s.Builder.Root))(t)

	s.NewestOnly = true
	result := testkit.Must(s.Run(t.Context()))(t)
	if got := result.Versions[0]; got.OperatorImage != "" || got.ScorecardImage != "" || got.BundleImage == "" {
		t.Errorf("staged %+v of the older release", got)
	}
	newest := result.Versions[1]
	for _, reference := range []string{result.Versions[0].BundleImage, newest.OperatorImage, newest.ScorecardImage, newest.BundleImage} {
		assertPullable(t, strings.Replace(reference, "quay.io", s.Registry.Host, 1))
	}

	s.NewestOnly = false
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "0123") {
		t.Errorf("without NewestOnly, the programs of the older release are not built from its commit: %v", err)
	}
}

func TestStandInsReplaceOnlyOperands(t *testing.T) {
	s := released(t)
	s.Operands = standIns
	result := testkit.Must(s.Run(t.Context()))(t)
	before := testkit.Must(checkout.ReadFiles(filepath.Join(s.Builder.Root, project.BundleDir(version))))(t)
	after := testkit.Must(checkout.ReadFiles(filepath.Join(s.Out, project.BundleDir(version))))(t)
	if changed := before.Differences(after); len(changed) != 1 || changed[0] != csvFile {
		t.Fatalf("changed files: %v", changed)
	}
	want := string(before[csvFile])
	for official, standIn := range standIns {
		want = strings.ReplaceAll(want, official, standIn)
	}
	if want != string(after[csvFile]) {
		t.Error("more than operand references has changed")
	}
	catalog := string(testkit.Must(os.ReadFile(filepath.Join(s.Out, "catalog", project.Package, "catalog.yaml")))(t))
	if !strings.Contains(catalog, result.Versions[0].BundleImage) {
		t.Error("the catalog does not describe the staged bundle")
	}
	for official, standIn := range standIns {
		if !strings.Contains(catalog, standIn) || strings.Contains(catalog, official) {
			t.Errorf("the catalog does not name %s instead of %s", standIn, official)
		}
	}
}

func TestRenameNamesTheRegistryInManifests(t *testing.T) {
	s := released(t)
	s.Registry = project.Registry{Host: s.Registry.Host + "/team", Rename: true}
	result := testkit.Must(s.Run(t.Context()))(t)
	assertPullable(t, result.Versions[0].OperatorImage)
	assertPullable(t, result.Versions[0].BundleImage)
	assertPullable(t, result.CatalogTag)
	csv := string(testkit.Must(os.ReadFile(filepath.Join(s.Out, project.BundleDir(version), csvFile)))(t))
	manifest := string(testkit.Must(os.ReadFile(filepath.Join(s.Out, "olm", "20-catalogsource.yaml")))(t)) +
		string(testkit.Must(os.ReadFile(filepath.Join(s.Out, "olm-v1", "10-clustercatalog.yaml")))(t))
	if strings.Contains(csv+manifest, "quay.io/example/") || !strings.Contains(csv, "image: "+s.Registry.Host+"/memcached-operator") {
		t.Errorf("the official registry is still named:\n%s%s", csv, manifest)
	}
	if !strings.Contains(csv, project.SourceURL) {
		t.Error("more was renamed than the project's images")
	}
	for _, official := range project.Operands() {
		if !strings.Contains(csv, official.Image) {
			t.Errorf("%s was renamed, but is not an image of the project", official.Image)
		}
	}
}

func TestRunRefusesChangedReleases(t *testing.T) {
	t.Run("a changed bundle", func(t *testing.T) {
		s := released(t)
		testkit.Must(0, os.WriteFile(filepath.Join(s.Builder.Root, project.BundleDir(version), csvFile), []byte("x"), 0o600))(t)
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), csvFile+" has changed") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a bundle image that comes out differently", func(t *testing.T) {
		s := released(t)
		releases := testkit.Must(record.Load(s.Builder.Root))(t)
		releases.Releases[0].BundleImage = project.BundleImage + "@sha256:" + strings.Repeat("0", 64)
		testkit.Must(0, releases.Save(s.Builder.Root))(t)
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not the released one") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("nothing at all", func(t *testing.T) {
		s := released(t)
		testkit.Must(0, os.Remove(filepath.Join(s.Builder.Root, record.File)))(t)
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--with-unreleased") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCheckReportsAnUnreachableRegistry(t *testing.T) {
	s := &stage.Stage{Registry: project.Registry{Host: "localhost:1"}}
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "registry localhost:1 cannot be reached, so nothing was built") {
		t.Errorf("got %v", err)
	}
}
