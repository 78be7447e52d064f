package pages_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/olm/e2e/pages"
)

const page = "# A page\n\n" +
	"    before\n\n" +
	"## With commands\n\n" +
	"Do `first -n shop`, and then:\n\n" +
	"    second <<END\n      indented\n    END\n\n" +
	"1. In a list:\n\n" +
	"   ```yaml\n   kind: Third\n   spec: {}\n   ```\n" +
	"2. `fourth |\n   fifth`\n\n" +
	"### After\n\n" +
	"```sh\nsixth\n```\n"

func write(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestASectionHasItsCodeInOrder(t *testing.T) {
	file := write(t)
	for heading, want := range map[string][]pages.Code{
		"with-commands": {
			{Text: "first -n shop", Inline: true},
			{Text: "second <<END\n  indented\nEND\n"},
			{Text: "kind: Third\nspec: {}\n"},
			{Text: "fourth |\nfifth", Inline: true},
		},
		"after": {{Text: "sixth\n"}},
	} {
		found, err := pages.Section(file, heading)
		if diff := cmp.Diff(want, found); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", heading, err, diff)
		}
	}
}

func TestAHeadingThatIsNotThereIsAnError(t *testing.T) {
	if found, err := pages.Section(write(t), "without"); err == nil {
		t.Errorf("found %v", found)
	}
	if found, err := pages.Section("missing.md", "after"); err == nil {
		t.Errorf("found %v", found)
	}
}
