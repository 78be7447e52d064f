package manifest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// runbooksURL is the address of the runbooks.
const runbooksURL = "https://github.com/example/memcached-operator/blob/main/olm/runbooks/"

// rule is an alerting rule or a recording rule.
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

func TestAlertsFire(t *testing.T) {
	tool := promtool(t)
	run(t, tool, "check", "rules", "alerts.yaml")
	run(t, tool, "test", "rules", "testdata/alerts.test.yaml")
}

func TestEveryAlertHasACaseThatFiresAndOneThatDoesNot(t *testing.T) {
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

func TestEveryAlertHasSeverityTextAndRunbook(t *testing.T) {
	for _, rule := range rules(t) {
		if rule.Alert == "" {
			continue
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s: severity is %q: use critical, warning or info", rule.Alert, rule.Labels["severity"])
		}
		for _, annotation := range []string{"summary", "description"} {
			if !strings.HasSuffix(rule.Annotations[annotation], ".") {
				t.Errorf("%s: %s is not a sentence: %q", rule.Alert, annotation, rule.Annotations[annotation])
			}
		}
		if want := runbooksURL + rule.Alert + ".md"; rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q: it has to be %s", rule.Alert, rule.Annotations["runbook_url"], want)
		}
	}
}
