package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/testkit"
)

// before has a comment, a text of two lines and an empty line, which stay as they are.
const before = `# The graph.
schema: olm.template.basic
entries:
- schema: olm.package
  name: memcached-operator
  defaultChannel: candidate
# All of them.
- schema: olm.channel
  name: candidate
  entries:
  - name: memcached-operator.v0.1.0
  # The bridge.
  - name: memcached-operator.v0.2.0
    replaces: memcached-operator.v0.1.0
- schema: olm.channel
  name: fast
  entries: []
- schema: olm.bundle
  image: quay.io/b@sha256:1
- schema: olm.bundle
  image: quay.io/b@sha256:2

- schema: olm.deprecations
  entries:
  - message: >-
      Upgrade to the newest
      release.
`

const newBundle = "- schema: olm.bundle\n  image: quay.io/b@sha256:3\n"

// withNewBundle returns a template with newBundle after the other bundles.
func withNewBundle(template string) string {
	return strings.Replace(template, "sha256:2\n", "sha256:2\n"+newBundle, 1)
}

func parse(t *testing.T, content string) *catalog.Template {
	t.Helper()
	return testkit.Must(catalog.ParseTemplate([]byte(content)))(t)
}

// Every release can be upgraded to a new one in one step, unless people have prepared other edges.
func TestAddReplacesTheHeadAndKeepsTheRest(t *testing.T) {
	graph := parse(t, before)
	if err := graph.Add("0.3.0", "quay.io/b@sha256:3", []string{"candidate", "fast"}); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, "    replaces: memcached-operator.v0.1.0\n", `    replaces: memcached-operator.v0.1.0
  - name: memcached-operator.v0.3.0
    replaces: memcached-operator.v0.2.0
    skipRange: '>=0.1.0 <0.3.0'
`, 1)
	want = strings.Replace(want, "  entries: []\n", "  entries:\n  - name: memcached-operator.v0.3.0\n", 1)
	if diff := cmp.Diff(withNewBundle(want), string(graph.Content())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAddKeepsAPreparedEntry(t *testing.T) {
	prepared := strings.Replace(before, "  entries: []\n",
		"  entries:\n  - name: memcached-operator.v0.3.0\n    skipRange: '>=0.1.0 <0.3.0'\n", 1)
	graph := parse(t, prepared)
	if err := graph.Add("0.3.0", "quay.io/b@sha256:3", []string{"fast"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withNewBundle(prepared), string(graph.Content())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAddRefusesUnclearTemplates(t *testing.T) {
	twoHeads := strings.Replace(before, "    replaces: memcached-operator.v0.1.0\n", "", 1)
	oneLine := strings.Replace(before, "entries: []", "entries: [{name: memcached-operator.v0.1.0}]", 1)
	for name, test := range map[string]struct {
		content, image, channel, want string
	}{
		"a channel that is not there": {before, "quay.io/b@sha256:3", "stable", `no channel "stable"`},
		"a bundle that is there":      {before, "quay.io/b@sha256:2", "fast", "already has the bundle"},
		"a channel with two heads":    {twoHeads, "quay.io/b@sha256:3", "candidate", "2 heads"},
		"a list in one line":          {oneLine, "quay.io/b@sha256:3", "fast", "line 17: write the list with a line for each item"},
	} {
		t.Run(name, func(t *testing.T) {
			err := parse(t, test.content).Add("0.3.0", test.image, []string{test.channel})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	if _, err := catalog.ParseTemplate([]byte("schema: olm.template.basic\n")); err == nil || !strings.Contains(err.Error(), "no list called entries") {
		t.Errorf("a template without entries: %v", err)
	}
}

func TestRenameChangesEveryBundle(t *testing.T) {
	graph := parse(t, before)
	err := graph.Rename(func(image string) (string, error) { return strings.Replace(image, "quay.io", "here", 1), nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"here/b@sha256:1", "here/b@sha256:2"}, graph.Bundles()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"candidate", "fast"}, graph.Channels()); diff != "" {
		t.Errorf("channels, -want +got:\n%s", diff)
	}
}

// The last of two equal keys would win silently: an upgrade edge that somebody wrote would not exist.
func TestAKeyThatIsThereTwiceIsRefused(t *testing.T) {
	twice := strings.Replace(before, "    replaces: memcached-operator.v0.1.0\n", "    replaces: memcached-operator.v0.1.0\n    replaces: memcached-operator.v0.0.9\n", 1)
	_, err := catalog.ParseTemplate([]byte(twice))
	if err == nil || !strings.Contains(err.Error(), "line 15") || !strings.Contains(err.Error(), `"replaces" already defined`) {
		t.Errorf("a second replaces: %v", err)
	}
}
