package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// runbooks is where the pages of alerts are, seen from here, and where people find them.
const (
	runbooks    = "../../../olm/runbooks"
	runbooksURL = "https://github.com/example/memcached-operator/blob/main/olm/runbooks/"
)

// rule is an alert, or a record.
type rule struct {
	Alert, Record, Expr, For string
	Labels, Annotations      map[string]string
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// rules returns all rules of alerts.yaml.
func rules(t *testing.T) []rule {
	t.Helper()
	var file ruleFile
	if err := yaml.UnmarshalStrict(alerts, &file); err != nil {
		t.Fatalf("alerts.yaml: %v", err)
	}
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

func alertNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, rule := range rules(t) {
		if rule.Alert != "" {
			names = append(names, rule.Alert)
		}
	}
	return names
}

// promtool returns the path of Prometheus's own tool: from PROMTOOL, else from where `make` keeps it, else from PATH.
// Without any, the test is skipped.
func promtool(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("PROMTOOL"); path != "" {
		return path
	}
	if cache, err := os.UserCacheDir(); err == nil {
		kept, _ := filepath.Glob(filepath.Join(cache, "memcached-operator/bin/prometheus-debian-*/usr/bin/promtool"))
		if len(kept) > 0 {
			return kept[0]
		}
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: fetch it with `go run -C hack/cluster . tool promtool`, install the package prometheus, or set PROMTOOL")
	}
	return path
}

func run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	if output, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", program, strings.Join(arguments, " "), err, output)
	}
}

func TestAlertsFireWhenTheyShouldAndOnlyThen(t *testing.T) {
	tool := promtool(t)
	run(t, tool, "check", "rules", "alerts.yaml")
	run(t, tool, "test", "rules", "testdata/alerts.test.yaml")
}

func TestEveryAlertHasACaseInWhichItFiresAndOneInWhichItDoesNot(t *testing.T) {
	data, err := os.ReadFile("testdata/alerts.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				AlertName string           `json:"alertname"`
				ExpAlerts []map[string]any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, expected := range test.AlertRuleTest {
			fires[expected.AlertName] = fires[expected.AlertName] || len(expected.ExpAlerts) > 0
			quiet[expected.AlertName] = quiet[expected.AlertName] || len(expected.ExpAlerts) == 0
		}
	}
	for _, alert := range alertNames(t) {
		if !fires[alert] || !quiet[alert] {
			t.Errorf("testdata/alerts.test.yaml needs a case for %s with alerts (has one: %t), and one with none (has one: %t)",
				alert, fires[alert], quiet[alert])
		}
	}
	for alert := range fires {
		if !slices.Contains(alertNames(t), alert) {
			t.Errorf("testdata/alerts.test.yaml tests %q, which alerts.yaml lacks", alert)
		}
	}
}

func TestEveryAlertSaysWhatIsWrongAndWhereToReadOn(t *testing.T) {
	for _, rule := range rules(t) {
		if rule.Alert == "" {
			continue
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s: severity is %q: use critical, warning or info", rule.Alert, rule.Labels["severity"])
		}
		for _, annotation := range []string{"summary", "description"} {
			if !strings.HasSuffix(rule.Annotations[annotation], ".") {
				t.Errorf("%s: %s is no sentence: %q", rule.Alert, annotation, rule.Annotations[annotation])
			}
		}
		if want := runbooksURL + rule.Alert + ".md"; rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q: it has to be %s", rule.Alert, rule.Annotations["runbook_url"], want)
		}
	}
}

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
		for _, heading := range []string{"# " + alert + "\n", "\n## What it means\n", "\n## How to look\n", "\n## How to mend it\n"} {
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

// query is one expression of the dashboard.
type query struct{ panel, expr string }

// panel is what this test reads of a panel.
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

// queries returns what the dashboard asks Prometheus, with values for Grafana's variables.
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

func TestPrometheusUnderstandsTheQueriesOfTheDashboard(t *testing.T) {
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

func TestPanelsAreExplainedAndDoNotOverlap(t *testing.T) {
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
