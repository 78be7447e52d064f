package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/agent"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/metrics"
)

// known maps each metric to its labels.
type known map[string]map[string]bool

// add adds the metrics of a page.
func (k known) add(page string) {
	for line := range strings.Lines(page) {
		found := sample.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if k[found[1]] == nil {
			k[found[1]] = map[string]bool{}
		}
		for _, label := range labelName.FindAllStringSubmatch(found[2], -1) {
			k[found[1]][label[1]] = true
		}
	}
}

var (
	sample     = regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(\{.*\})? `)
	labelName  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	quoted     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	times      = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+\w+`)
	identifier = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?`)
	separator  = regexp.MustCompile(`[,\s]+`)
)

// targetLabels are the labels that scraping through the ServiceMonitors adds.
var targetLabels = []string{"namespace", "pod", "service", "job", "instance", "endpoint", "container", CacheLabel}

// misses returns the metrics and labels of an expression that do not exist.
func (k known) misses(expr string) []string {
	expr = quoted.ReplaceAllString(expr, `""`)
	var missing []string
	anywhere := slices.Collect(maps.Keys(k.labels()))
	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, label := range separator.Split(strings.TrimSpace(group[1]), -1) {
			if !slices.Contains(anywhere, label) && !slices.Contains(targetLabels, label) {
				missing = append(missing, "the label "+label)
			}
		}
	}
	expr = times.ReplaceAllString(grouping.ReplaceAllString(expr, " "), " ")
	for _, found := range identifier.FindAllStringSubmatch(expr, -1) {
		name, after := found[1], found[2]
		if after == "(" || slices.Contains([]string{"and", "or", "unless", "bool"}, name) {
			continue
		}
		labels, ok := k[name]
		if !ok {
			missing = append(missing, "the metric "+name)
			continue
		}
		for _, label := range labelName.FindAllStringSubmatch(after, -1) {
			if !labels[label[1]] && !slices.Contains(targetLabels, label[1]) {
				missing = append(missing, fmt.Sprintf("the label %s of %s", label[1], name))
			}
		}
	}
	return missing
}

// labels returns the labels of all metrics.
func (k known) labels() map[string]bool {
	all := map[string]bool{}
	for _, labels := range k {
		maps.Copy(all, labels)
	}
	return all
}

// waiting is a cache with one Memcached that has a pending change.
type waiting struct{ client.Reader }

func (waiting) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if memcacheds, ok := list.(*v1alpha1.MemcachedList); ok {
		object := v1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"}}
		object.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpdatePending, Status: metav1.ConditionTrue}}
		memcacheds.Items = append(memcacheds.Items, object)
	}
	return nil
}

// ofOperator returns the operator's metrics.
func ofOperator(t *testing.T) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	own, err := metrics.Register(registry, waiting{})
	if err != nil {
		t.Fatal(err)
	}
	own.Reconciled("Memcached", errors.New("it failed")) // A metric with labels is absent before.
	own.Upgradeable(true)
	response := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return response.Body.String()
}

// ofAgent returns the metrics of an agent whose memcached has TLS and users.
func ofAgent(t *testing.T, memcached agenttesting.Runner) string {
	t.Helper()
	files := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour)) //nolint:forbidigo // memcached uses the real clock as well.
	files["users"] = "user:password\n"
	volume := agenttesting.NewVolume(t, files)
	server := memcached.Start(t, append(volume.TLS(), "-Y", volume.File("users"))...)
	address := testkit.FreeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- agent.Run(ctx, []string{
			"--bind-address", address, "--memcached", server.Address, "--process", server.Name, "--directory", t.TempDir(),
			"--interval=1s", "--users-file", volume.File("users"), "--tls-ca", volume.File("ca.crt"),
			"--tls-server-name", agenttesting.ServerName, "--tls-certificate", volume.File("tls.crt"), "--tls-key", volume.File("tls.key"),
		}, t.Output())
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ends with %v", err)
		}
	})
	var page string
	agenttesting.Await(t, "the agent has read memcached's statistics", func() error {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		page = string(body)
		for _, part := range []string{"memcached_agent_starts_total", `canary_duration_seconds_count{operation="get"}`, "not_after"} {
			if !strings.Contains(page, part) {
				return errors.Join(fmt.Errorf("no %s yet", part), err)
			}
		}
		return err
	})
	return page
}

// An alert on a misspelled metric never fires, and nobody notices. The test compares names with the metrics that the
// programs expose.
func TestMetricsOfAlertsAndDashboardExist(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, memcached agenttesting.Runner) {
		metrics := known{"up": {}}
		metrics.add(ofOperator(t))
		metrics.add(ofAgent(t, memcached))
		for _, rule := range rules(t) {
			if rule.Record != "" {
				metrics[rule.Record] = map[string]bool{}
			}
		}
		for _, rule := range rules(t) {
			for _, missing := range metrics.misses(rule.Expr) {
				t.Errorf("alerts.yaml, %s%s: %s does not exist", rule.Alert, rule.Record, missing)
			}
		}
		for _, query := range queries(t) {
			for _, missing := range metrics.misses(query.expr) {
				t.Errorf("dashboard.json, panel %q: %s does not exist", query.panel, missing)
			}
		}
	})
}

func TestMissingMetricsAndLabelsAreFound(t *testing.T) {
	metrics := known{"up": {}}
	metrics.add("# HELP a_total Of b.\na_total{kind=\"x\",le=\"y=z\"} 3\nb 1\n")
	for expr, want := range map[string]string{
		`sum by (kind) (rate(a_total{kind="b_c"}[5m] offset 1h)) / on (pod) b > 0.5`:    "",
		`up{memcached!=""} == 0 unless on (namespace, memcached) max by (pod) (b) == 1`: "",
		`rate(c_total[5m]) and b`:           "the metric c_total",
		`a_total{sort=~"x|y"} or vector(0)`: "the label sort of a_total",
		`sum by (sort) (a_total)`:           "the label sort",
		`histogram_quantile(0.9, sum by (kind, le) (rate(a_bucket{kind="x"}[5m]))) > 01`: "the metric a_bucket",
	} {
		if got := strings.Join(metrics.misses(expr), ", "); got != want {
			t.Errorf("%s: misses %q, want %q", expr, got, want)
		}
	}
}
