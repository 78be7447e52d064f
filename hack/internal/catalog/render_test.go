package catalog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/graph"
	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/project"
)

const (
	digest = "@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	bundle = project.BundleImage + digest
	dir    = "../../../bundles/v" + project.Version
)

func template(entries, image string) []byte {
	return []byte(`schema: olm.template.basic
entries:
- {schema: olm.package, name: memcached-operator, defaultChannel: candidate}
- {schema: olm.channel, package: memcached-operator, name: candidate, entries: [` + entries + `]}
- {schema: olm.channel, package: memcached-operator, name: fast, entries: []}
- {schema: olm.bundle, image: "` + image + `"}
`)
}

func find(image string) (string, error) {
	if strings.HasPrefix(image, project.BundleImage) {
		return dir, nil
	}
	return "", errors.New("no such bundle: " + image)
}

var entry = "{name: " + project.CSVName(project.Version) + ", skipRange: '" + project.SkipRange(project.Version) + "'}"

func TestRenderDescribesTheBundleByDigest(t *testing.T) {
	rendered := testkit.Must(catalog.Render(t.Context(), template(entry, bundle), find))(t)
	for _, want := range []string{
		"image: " + bundle, "name: candidate", "type: olm.csv.metadata", "type: olm.gvk", "mediatype: image/svg+xml",
		"- image: " + project.Operands()[0].Image, "version: " + project.Version,
	} {
		if !strings.Contains(string(rendered), want) {
			t.Errorf("the catalog lacks %q", want)
		}
	}
	for _, unwanted := range []string{"olm.bundle.object", "name: fast"} {
		if strings.Contains(string(rendered), unwanted) {
			t.Errorf("the catalog has %q", unwanted)
		}
	}
	if err := catalog.Validate(rendered); err != nil {
		t.Errorf("the rendered catalog is not valid: %v", err)
	}
	again, err := catalog.Render(t.Context(), template(entry, bundle), find)
	if err != nil || string(again) != string(rendered) {
		t.Errorf("a second run renders another catalog (%v)", err)
	}
}

func TestRenderWithoutReleasesIsEmpty(t *testing.T) {
	empty, _, _ := strings.Cut(string(template("", bundle)), "- {schema: olm.bundle")
	rendered, err := catalog.Render(t.Context(), []byte(empty), find)
	if err != nil || len(rendered) > 0 {
		t.Errorf("got %q, %v", rendered, err)
	}
}

func TestRenderRefusesInvalidTemplates(t *testing.T) {
	for name, test := range map[string]struct {
		template []byte
		want     string
	}{
		"a bundle that nobody has":         {template(entry, "quay.io/other/bundle"+digest), "no such bundle"},
		"a bundle by tag":                  {template(entry, project.BundleImage+":v1"), "not referred to by digest"},
		"an entry without a bundle":        {template(entry+", {name: memcached-operator.v9.0.0, replaces: "+project.CSVName(project.Version)+"}", bundle), "v9.0.0"},
		"an entry that replaces itself":    {template("{name: "+project.CSVName(project.Version)+", replaces: "+project.CSVName(project.Version)+"}", bundle), "not valid"},
		"a deprecation of no release":      {append(template(entry, bundle), "- {schema: olm.deprecations, package: memcached-operator, entries: [{reference: {schema: olm.bundle, name: memcached-operator.v9.0.0}, message: m}]}\n"...), "v9.0.0"},
		"a schema that nothing reads":      {append(template(entry, bundle), "- {schema: olm.deprecation, package: memcached-operator, entries: []}\n"...), "olm.deprecation"},
		"a file that is no basic template": {[]byte("schema: olm.semver\n"), "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := catalog.Render(t.Context(), test.template, find); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestRenderNamesAllViolationsOfTheGraph(t *testing.T) {
	broken := "{name: " + project.CSVName(project.Version) + ", replaces: memcached-operator.v0.0.1, skipRange: '>=0.0.1'}"
	_, err := catalog.Render(t.Context(), template(broken, project.BundleImage+":v1"), find)
	for _, want := range []string{
		"channel candidate, entry " + project.CSVName(project.Version), "[unknown-name]", "[skiprange-unbounded]",
		"end it with <" + project.Version, "not referred to by digest",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// The page of a catalog shows what its head is, not what an older release or this program says.
func TestThePackageIsDescribedAsItsHead(t *testing.T) {
	rendered := testkit.Must(catalog.Render(t.Context(), template(entry, bundle), find))(t)
	config := testkit.Must(declcfg.LoadReader(bytes.NewReader(rendered)))(t)
	var head operatorsv1alpha1.ClusterServiceVersion
	manifest := testkit.Must(os.ReadFile(filepath.Join(dir, project.CSVFile)))(t)
	if err := yaml.Unmarshal(manifest, &head); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(head.Spec.Description, config.Packages[0].Description); diff != "" || head.Spec.Description == "" {
		t.Errorf("-head +package:\n%s", diff)
	}
}

// A catalog whose entry has another skipRange than its bundle says differs from one that is made of the bundle.
func TestASkipRangeThatTheBundleDoesNotHaveIsRefused(t *testing.T) {
	for name, skipRange := range map[string]string{"another": "'>=0.2.0 <" + project.Version + "'", "none": "''"} {
		entry := "{name: " + project.CSVName(project.Version) + ", skipRange: " + skipRange + "}"
		_, err := catalog.Render(t.Context(), template(entry, bundle), find)
		for _, want := range []string{"channel candidate, entry " + project.CSVName(project.Version), "[skiprange-annotation]", project.SkipRange(project.Version)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", name, err, want)
			}
		}
	}
}

// Nobody can upgrade from the head, so its deprecation says nothing useful before the next release.
func TestADeprecationOfTheHeadIsNotServedYet(t *testing.T) {
	content := append(template(entry, bundle), "- {schema: olm.deprecations, package: memcached-operator, entries: [{reference: {schema: olm.bundle, name: "+project.CSVName(project.Version)+"}, message: m}]}\n"...)
	rendered := testkit.Must(catalog.Render(t.Context(), content, find))(t)
	config := testkit.Must(declcfg.LoadReader(bytes.NewReader(rendered)))(t)
	if len(config.Deprecations) > 0 {
		t.Errorf("it is served: %+v", config.Deprecations)
	}
}

func TestRenderKeepsDeprecationsAndBarriers(t *testing.T) {
	name := project.CSVName(project.Version)
	fast := "- {schema: olm.channel, package: memcached-operator, name: fast, entries: [" + entry + "]}"
	content := strings.Replace(string(template(entry, bundle)), "- {schema: olm.channel, package: memcached-operator, name: fast, entries: []}", fast, 1) + `
- schema: olm.deprecations
  package: memcached-operator
  entries:
  - {reference: {schema: olm.channel, name: fast}, message: follow candidate}
  - {reference: {schema: olm.package}, message: it has reached its end}
  - {reference: {schema: olm.bundle, name: ` + name + `}, message: it leaks}
- schema: memcached-operator.barriers
  package: memcached-operator
  entries: [{name: ` + name + `, reason: it rewrites stored objects}]
`
	rendered := testkit.Must(catalog.Render(t.Context(), []byte(content), find))(t)
	config := testkit.Must(declcfg.LoadReader(bytes.NewReader(rendered)))(t)
	served := testkit.Must(graph.Read(*config))(t)
	want := map[string]string{
		"package": "it has reached its end", "candidate": "", "fast": "follow candidate", name: "it leaks", "barrier": "it rewrites stored objects",
	}
	got := map[string]string{
		"package": served.Deprecated, served.Channels[0].Name: served.Channels[0].Deprecated, served.Channels[1].Name: served.Channels[1].Deprecated,
		served.Releases[0].Name: served.Releases[0].Deprecated, "barrier": served.Barriers[0].Reason,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// opm serves this to OLM.
	packages := testkit.Must(declcfg.ConvertToModel(*config))(t)
	model := packages[project.Package]
	if model.Deprecation.Message != "it has reached its end" || model.Channels["fast"].Deprecation.Message != "follow candidate" ||
		model.Channels["fast"].Bundles[name].Deprecation.Message != "it leaks" {
		t.Errorf("opm reads something else: %+v", model)
	}
}
