package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/example/memcached-operator/hack/internal/catalog"
)

// A release is added to any template that is accepted, so that the template says the same as before and the new release besides, and no
// line of it changes; or it stays as it is, and an error says why.
func FuzzTemplate(f *testing.F) {
	literal := strings.Replace(before, "  - name: memcached-operator.v0.2.0\n", "  - name: memcached-operator.v0.2.0\n    note: |\n      two\n      lines\n\n", 1)
	for _, seed := range []string{
		before, strings.TrimSuffix(before, "\n"), strings.ReplaceAll(before, "\n", "\r\n"), literal,
		strings.Replace(before, "  image: quay.io/b@sha256:2\n", "  image: >-\n    quay.io/b@sha256:2\n    x\n", 1),
		strings.Replace(before, "entries: []", "entries: [] # none yet", 1), strings.Replace(before, "entries: []", "entries: &a []", 1),
		strings.Replace(before, "entries: []", "entries:\n  []", 1), strings.Replace(before, "entries: []", "entries: [\n  ]", 1), "entries: []", "entries: [ ]\n", "entries: &a\n- *a\n",
		"entries:\n- schema: olm.channel\n  name: fast\n  entries:\n  - name: x\n    note: 'a\n\n      b'", "? entries\n: - {schema: olm.channel, name: fast}\n", "{entries: [\n1]}\n", "entries:\n-\n a: b\n", "entries:\n- schema: olm.channel\n  name: fast\n  entries: []\n  0: 0\n", "entries:\n-   0\n- schema: olm.channel\n  name: fast\n  entries: []", "entries:\n- schema: olm.bundle\n  image: x", "--- \nentries:\n- a\n---\nb\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		template, err := catalog.ParseTemplate(content)
		if err != nil {
			return
		}
		for _, name := range append(template.Channels(), template.Bundles()...) {
			if strings.ContainsFunc(name, unicode.IsControl) {
				return // OLM takes no such name.
			}
		}
		had := template.Bundles()
		err = template.Add("0.3.0", "quay.io/b@sha256:3", []string{"fast"})
		if err != nil {
			if string(template.Content()) != string(content) {
				t.Errorf("after %v the template is:\n%s", err, template.Content())
			}
			return
		}
		if got := template.Bundles(); len(got) != len(had)+1 || !slices.Contains(got, "quay.io/b@sha256:3") {
			t.Errorf("the bundles are %q, before %q", got, had)
		}
		keepsLines(t, string(content), string(template.Content()))
		removeAdded(t, content, template.Content())
	})
}

// keepsLines fails unless all lines are there after the change, in order; only an empty list may have gone from the end of one.
func keepsLines(t *testing.T, before, after string) {
	t.Helper()
	rest := strings.Split(after, "\n")
	for line := range strings.SplitSeq(strings.TrimRight(before, "\n"), "\n") {
		at := slices.IndexFunc(rest, func(l string) bool {
			return l == line || strings.HasPrefix(line, l) && strings.Contains(line, "[") && l != ""
		})
		if at < 0 {
			t.Fatalf("the line %q is gone:\n%s", line, after)
		}
		rest = rest[at+1:]
	}
}

// removeAdded fails unless a template without the new release says what it said before.
func removeAdded(t *testing.T, before, after []byte) {
	t.Helper()
	var was, is map[string]any
	if yaml.Unmarshal(before, &was) != nil || yaml.Unmarshal(after, &is) != nil {
		return // Other kinds of keys.
	}
	entries, _ := is["entries"].([]any)
	entries = slices.DeleteFunc(entries, func(e any) bool { f, _ := e.(map[string]any); return f["image"] == "quay.io/b@sha256:3" })
	done := false
	for _, entry := range entries {
		if _, other := entry.(map[any]any); other {
			return // Other kinds of keys.
		}
		if channel, _ := entry.(map[string]any); channel["schema"] == "olm.channel" && channel["name"] == "fast" && !done {
			done = true
			of, _ := channel["entries"].([]any)
			channel["entries"] = slices.DeleteFunc(of, func(e any) bool { f, _ := e.(map[string]any); return f["name"] == "memcached-operator.v0.3.0" })
		}
	}
	is["entries"] = entries
	want, _ := yaml.Marshal(was)
	got, _ := yaml.Marshal(is)
	if string(want) != string(got) && !strings.Contains(string(before), "memcached-operator.v0.3.0") {
		t.Errorf("the rest changes from\n%s\nto\n%s", want, got)
	}
}
