package manifest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	variableSet  = regexp.MustCompile(`\b([A-Z]+)=`)
	variableUsed = regexp.MustCompile(`\$([A-Z]+)`)
)

// Somebody who was woken by an alert copies the commands as they are.
func TestRunbooksSayWhatTheirVariablesStandFor(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var set []string
		for _, found := range variableSet.FindAllSubmatch(data, -1) {
			set = append(set, string(found[1]))
		}
		for _, found := range variableUsed.FindAllSubmatch(data, -1) {
			if name := string(found[1]); !slices.Contains(set, name) {
				t.Errorf("%s uses $%s, and does not say what it is", filepath.Base(page), name)
			}
		}
	}
}
