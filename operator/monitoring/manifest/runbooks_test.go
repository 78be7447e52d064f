package manifest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runbooks is the directory of the runbooks.
const runbooks = "../../../olm/runbooks"

var (
	variableSet  = regexp.MustCompile(`\b([A-Z]+)=`)
	variableUsed = regexp.MustCompile(`\$([A-Z]+)`)
)

func TestEveryAlertHasARunbookAndEveryRunbookAnAlert(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index := ""
	found := map[string]string{}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimSuffix(filepath.Base(page), ".md"); name == "README" {
			index = string(data)
		} else {
			found[name] = string(data)
		}
	}
	for _, alert := range alertNames(t) {
		page, ok := found[alert]
		if !ok {
			t.Errorf("%s has no page: write olm/runbooks/%s.md", alert, alert)
			continue
		}
		for _, heading := range []string{"# " + alert + "\n", "\n## What it means\n", "\n## Diagnosis\n", "\n## How to fix it\n"} {
			if !strings.Contains(page, heading) {
				t.Errorf("olm/runbooks/%s.md lacks the heading %q", alert, strings.TrimSpace(heading))
			}
		}
		if !strings.Contains(index, "("+alert+".md)") {
			t.Errorf("olm/runbooks/README.md does not link to %s.md", alert)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(alertNames(t), name) {
			t.Errorf("olm/runbooks/%s.md is about no alert: rename or delete it", name)
		}
	}
}

// Readers copy the commands of a runbook unchanged.
func TestRunbooksDefineTheirVariables(t *testing.T) {
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
				t.Errorf("%s uses $%s, but does not define it", filepath.Base(page), name)
			}
		}
	}
}
