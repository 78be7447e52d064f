package compat_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/bundle/compat"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
)

const (
	current = "../../../"
	crdFile = "manifests/cache.example.com_memcacheds.yaml"
	tighter = "minimum: 1\n                type: integer"
	before  = "minimum: 0\n                type: integer"
)

func TestThisCheckoutIsCompatible(t *testing.T) {
	result := testkit.Must(compat.Check(t.Context(), current, project.Version))(t)
	for _, problem := range result.Problems {
		t.Error(problem)
	}
	if result.Samples < 8 {
		t.Errorf("only %d samples were found", result.Samples)
	}
}

// tree is a checkout with the releases 0.1.0 and 0.2.0, and 0.3.0 under development. All have the real CRDs of the
// version under development and the real corpus, until a test changes them.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T) tree {
	t.Helper()
	c := tree{t, t.TempDir()}
	for _, version := range []string{"0.1.0", "0.2.0", "0.3.0"} {
		c.copy(project.BundleDir(project.Version), project.BundleDir(version))
	}
	c.copy(compat.CorpusDir, compat.CorpusDir)
	c.copy("olm/samples", "olm/samples")
	releases := &record.Record{Releases: []record.Release{{Version: "0.1.0"}, {Version: "0.2.0"}}}
	c.write(record.File, string(testkit.Must(releases.Encode())(t)))
	return c
}

func (c tree) copy(from, to string) {
	c.t.Helper()
	files := testkit.Must(checkout.ReadFiles(current + from))(c.t)
	if len(files) == 0 {
		c.t.Fatalf("%s is empty", from)
	}
	testkit.Must(files.Write(filepath.Join(c.root, to)))(c.t)
}

func (c tree) write(name, content string) {
	c.t.Helper()
	testkit.WriteFile(c.t, c.root, name, content)
}

// replace changes the CRD of one version.
func (c tree) replace(version, from, to string) {
	c.t.Helper()
	name := project.BundleDir(version) + "/" + crdFile
	content := testkit.ReadFile(c.t, c.root, name)
	if !strings.Contains(content, from) {
		c.t.Fatalf("%s lacks %q", name, from)
	}
	c.write(name, strings.Replace(content, from, to, 1))
}

func (c tree) check() *compat.Result {
	c.t.Helper()
	return testkit.Must(compat.Check(c.t.Context(), c.root, "0.3.0"))(c.t)
}

// channel is a catalog of the releases 0.1.0 and 0.2.0 with one channel of the given entries.
func channel(entries ...string) string {
	catalog := "schema: olm.package\nname: memcached-operator\ndefaultChannel: fast\n"
	for _, version := range []string{"0.1.0", "0.2.0"} {
		catalog += fmt.Sprintf("---\nschema: olm.bundle\npackage: memcached-operator\nname: memcached-operator.v%s\n"+
			"properties: [{type: olm.package, value: {packageName: memcached-operator, version: %[1]s}}]\n", version)
	}
	return catalog + "---\nschema: olm.channel\npackage: memcached-operator\nname: fast\nentries:\n" + strings.Join(entries, "")
}

func entry(version, edges string) string {
	return fmt.Sprintf("- name: memcached-operator.v%s\n%s", version, edges)
}

func TestDevelopmentIsComparedWithEveryEarlierRelease(t *testing.T) {
	c := newTree(t)
	result := c.check()
	if len(result.Problems) > 0 {
		t.Errorf("got %v", result.Problems)
	}
	want := "[v0.1.0 → v0.3.0 (an earlier release) v0.2.0 → v0.3.0 (an earlier release)]"
	if got := fmt.Sprint(result.Upgrades); got != want {
		t.Errorf("compared %s, want %s", got, want)
	}
}

func TestTightenedCRDIsReportedWithItsFix(t *testing.T) {
	c := newTree(t)
	c.replace("0.3.0", before, tighter)
	problems := c.check().Problems
	all := strings.Join(problems, "\n")
	for _, want := range []string{
		"v0.1.0 → v0.3.0 (an earlier release): memcacheds.cache.example.com v1alpha1 spec.size: minimum increased: 0 -> 1; allow every value",
		"v0.2.0 → v0.3.0 (an earlier release): memcacheds.cache.example.com v1alpha1 spec.size: minimum increased: 0 -> 1; allow every value",
		`v0.1.0 → v0.3.0 (an earlier release): memcacheds.cache.example.com v1alpha1 Memcached "stopped": validation is too restrictive`,
		"OLM stops the upgrade of a cluster that has such an object",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	for _, problem := range problems {
		if strings.Contains(problem, "\n") {
			t.Errorf("more than one line: %q", problem)
		}
	}
}

func TestEdgesOfTheCatalogAreCompared(t *testing.T) {
	for name, edge := range map[string]string{
		"replaces":  "  replaces: memcached-operator.v0.1.0\n",
		"skips":     "  skips: [memcached-operator.v0.1.0]\n",
		"skipRange": "  skipRange: '<0.2.0'\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := newTree(t)
			c.replace("0.2.0", before, tighter)
			c.write(catalog.File, channel(entry("0.1.0", ""), entry("0.2.0", edge)))
			got := strings.Join(c.check().Problems, "\n")
			if !strings.Contains(got, "v0.1.0 → v0.2.0 ("+name+" in fast): memcacheds.cache.example.com v1alpha1 spec.size") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestReleasesWithoutAnEdgeMayDiffer(t *testing.T) {
	c := newTree(t)
	c.replace("0.2.0", before, tighter) // Loosened again in 0.3.0.
	c.write(catalog.File, channel(entry("0.1.0", ""), entry("0.2.0", "")))
	if problems := c.check().Problems; len(problems) > 0 {
		t.Errorf("got %v", problems)
	}
}

func TestACatalogWithAnEntryWithoutABundleIsAnError(t *testing.T) {
	c := newTree(t)
	c.write(catalog.File, channel(entry("0.9.0", "")))
	if _, err := compat.Check(t.Context(), c.root, "0.3.0"); err == nil || !strings.Contains(err.Error(), `channel fast has an entry "memcached-operator.v0.9.0"`) {
		t.Errorf("got %v", err)
	}
}

func TestStoredVersionsOfSkippedReleasesCount(t *testing.T) {
	c := newTree(t)
	second := "    name: v1\n    schema:"
	for _, version := range []string{"0.2.0", "0.3.0"} {
		c.replace(version, "    name: v1alpha1\n    schema:", second)
	}
	got := strings.Join(c.check().Problems, "\n")
	for _, want := range []string{
		"v0.1.0 → v0.3.0 (an earlier release): memcacheds.cache.example.com: objects may be stored in v1alpha1",
		"v0.2.0 → v0.3.0 (an earlier release): memcacheds.cache.example.com: objects may be stored in v1alpha1",
		"v1: there is no sample of it; add one to " + compat.CorpusDir,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestStoredVersionsOfLaterReleasesDoNotCount(t *testing.T) {
	c := newTree(t)
	c.replace("0.2.0", "    name: v1alpha1\n    schema:", "    name: v1\n    schema:")
	got := strings.Join(c.check().Problems, "\n")
	if !strings.Contains(got, "v0.2.0 → v0.3.0 (an earlier release): memcacheds.cache.example.com: objects may be stored in v1,") {
		t.Errorf("the upgrade that loses v1 is missing in\n%s", got)
	}
	if strings.Contains(got, "v0.1.0 → v0.3.0") {
		t.Errorf("0.1.0 never stored v1, but got\n%s", got)
	}
}

func TestSampleThatNoReleaseAccepts(t *testing.T) {
	c := newTree(t)
	c.write(compat.CorpusDir+"/wrong.yaml", "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: wrong}\nspec: {sise: 1}\n")
	problems := c.check().Problems
	if len(problems) != 1 || !strings.Contains(problems[0], `Memcached "wrong" (hack/bundle/compat/testdata/corpus/wrong.yaml)`) ||
		!strings.Contains(problems[0], "unknown field spec.sise") {
		t.Errorf("got %v", problems)
	}
}

func TestMissingBundleIsAnError(t *testing.T) {
	c := newTree(t)
	if _, err := compat.Check(t.Context(), c.root, "0.4.0"); err == nil || !strings.Contains(err.Error(), "bundles/v0.4.0") {
		t.Errorf("got %v", err)
	}
}
