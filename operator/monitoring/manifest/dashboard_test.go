package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// query is one expression of the dashboard.
type query struct{ panel, expr string }

// panel contains the fields of a panel that the tests use.
type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var parsed struct {
		UID    string
		Panels []panel
	}
	if err := json.Unmarshal([]byte(dashboard), &parsed); err != nil {
		t.Fatalf("dashboard.json: %v", err)
	}
	if parsed.UID == "" || len(parsed.Panels) == 0 {
		t.Fatal("dashboard.json has no uid, or no panels")
	}
	return parsed.Panels
}

// queries returns the dashboard's queries, with values for Grafana's variables.
func queries(t *testing.T) []query {
	t.Helper()
	values := strings.NewReplacer("$__rate_interval", "5m", "$namespace", "shop", "$cache", "sessions")
	var all []query
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			all = append(all, query{panel.Title, values.Replace(target.Expr)})
		}
	}
	return all
}

func TestDashboardQueriesAreValid(t *testing.T) {
	var file strings.Builder
	file.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, query := range queries(t) {
		if strings.Contains(query.expr, "$") {
			t.Errorf("panel %q uses a variable that the dashboard lacks: %s", query.panel, query.expr)
		}
		fmt.Fprintf(&file, "  - record: panel:%d\n    expr: %q\n", i, query.expr)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, promtool(t), "check", "rules", path)
}

func TestPanelsAreDescribedAndDoNotOverlap(t *testing.T) {
	const columns = 24
	taken, ids := map[[2]int]string{}, map[int]string{}
	for _, panel := range panels(t) {
		if other, ok := ids[panel.ID]; ok {
			t.Errorf("panels %q and %q have the same id", panel.Title, other)
		}
		ids[panel.ID] = panel.Title
		if panel.Type != "row" && (panel.Title == "" || panel.Description == "" || len(panel.Targets) == 0) {
			t.Errorf("panel %d %q needs a title, a description and a query", panel.ID, panel.Title)
		}
		at := panel.GridPos
		if at.X+at.W > columns {
			t.Errorf("panel %q is partly outside", panel.Title)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok && other != panel.Title {
					t.Fatalf("panels %q and %q overlap", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
}
