package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/bundle/project"
	"github.com/example/memcached-operator/hack/catalog/render"
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

var entry = "{name: " + project.CSVName(project.Version) + "}"

func TestTheCatalogDescribesTheBundleByDigest(t *testing.T) {
	catalog, err := render.Catalog(t.Context(), template(entry, bundle), find)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"image: " + bundle, "name: candidate", "type: olm.csv.metadata", "type: olm.gvk", "mediatype: image/svg+xml",
		"- image: " + project.OperandImage, "version: " + project.Version,
	} {
		if !strings.Contains(string(catalog), want) {
			t.Errorf("the catalog lacks %q", want)
		}
	}
	for _, unwanted := range []string{"olm.bundle.object", "name: fast"} {
		if strings.Contains(string(catalog), unwanted) {
			t.Errorf("the catalog has %q", unwanted)
		}
	}
	if err := render.Validate(t.Context(), catalog); err != nil {
		t.Errorf("what was rendered is not valid: %v", err)
	}
	again, err := render.Catalog(t.Context(), template(entry, bundle), find)
	if err != nil || string(again) != string(catalog) {
		t.Errorf("rendered again it is different (%v)", err)
	}
}

func TestWithoutReleasesThereIsNoCatalog(t *testing.T) {
	empty, _, _ := strings.Cut(string(template("", bundle)), "- {schema: olm.bundle")
	catalog, err := render.Catalog(t.Context(), []byte(empty), find)
	if err != nil || len(catalog) > 0 {
		t.Errorf("got %q, %v", catalog, err)
	}
}

func TestWhatCannotBeServedIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		template []byte
		want     string
	}{
		"a bundle that nobody has":         {template(entry, "quay.io/other/bundle"+digest), "no such bundle"},
		"a bundle by tag":                  {template(entry, project.BundleImage+":v1"), "not referred to by digest"},
		"an entry without a bundle":        {template(entry+", {name: memcached-operator.v9.0.0, replaces: "+project.CSVName(project.Version)+"}", bundle), "v9.0.0"},
		"an entry that replaces itself":    {template("{name: "+project.CSVName(project.Version)+", replaces: "+project.CSVName(project.Version)+"}", bundle), "not valid"},
		"a file that is no basic template": {[]byte("schema: olm.semver\n"), "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render.Catalog(t.Context(), test.template, find); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
