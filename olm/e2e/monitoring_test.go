//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/olm/e2e/prometheus"
	"github.com/example/memcached-operator/olm/walk"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// alertsWait is "for" of the alerts in this test. In the released rules it is minutes.
const alertsWait = 5 * time.Second

// A real Prometheus, configured by the objects that the operator creates, scrapes caches with TLS, users and monitoring: each
// pod once, with the names of pod and cache. No alert fires without a problem, and the problems that the test causes fire
// alerts.
func metricsAndAlerts(t *testing.T) {
	program := os.Getenv("E2E_PROMETHEUS")
	if program == "" {
		t.Fatal("E2E_PROMETHEUS not set: run `make e2e`, which sets it")
	}
	ctx := t.Context()
	expires := makeMonitoredCaches(ctx, t)
	t.Run("without the CRDs there are no objects", func(t *testing.T) {
		if made := kubectl(ctx, t, "get", "configmaps", "-n", walk.Namespace, "-l", "app.kubernetes.io/component=monitoring", "-o", "name"); made != "" {
			t.Errorf("there is %s", made)
		}
	})
	removeKinds := addMonitoringKinds(ctx, t)
	t.Run("with the CRDs the operator creates all objects", func(t *testing.T) { waitMonitoringObjects(ctx, t) })
	if t.Failed() {
		return
	}
	t.Run("a cache that is no longer monitored has no ServiceMonitor", func(t *testing.T) { monitorGoes(ctx, t) })
	server := startPrometheus(ctx, t, program)
	t.Run("every pod is scraped, and no alert fires", func(t *testing.T) { allIsWell(ctx, t, server, expires) })
	t.Run("problems fire alerts, until they are solved", func(t *testing.T) { goesWrong(ctx, t, server) })
	must(t, server.Stop())
	t.Run("caches work when the CRDs are deleted", func(t *testing.T) {
		removeKinds()
		for _, name := range []string{"open", "bare"} {
			kubectl(ctx, t, "scale", "memcached", name, "-n", "default", "--replicas=2")
			_, err := suite.cluster.WaitReady(ctx, inDefault(name), 2, time.Minute)
			must(t, err)
		}
		operatorLoggedNoError(ctx, t)
	})
}

// monitorGoes lets the cache "bare" be monitored for a while.
func monitorGoes(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, step := range []struct{ spec, want string }{
		{`{"spec":{"monitoring":{}}}`, "servicemonitor.monitoring.coreos.com/bare"},
		{`{"spec":{"monitoring":null}}`, ""},
	} {
		kubectl(ctx, t, "patch", "memcached", "bare", "-n", "default", "--type=merge", "-p", step.spec)
		must(t, walk.Within(ctx, time.Minute, "the ServiceMonitor to be "+strconv.Quote(step.want), func(ctx context.Context) error {
			got, err := suite.cluster.Kubectl(ctx, "get", "servicemonitors", "bare", "-n", "default", "--ignore-not-found", "-o", "name")
			if err == nil && strings.TrimSpace(got) != step.want {
				err = fmt.Errorf("it is %q", got)
			}
			return err
		}))
	}
}

// makeMonitoredCaches creates the caches "metered" of two pods with TLS and users, "open" of one pod, and "bare" without pods
// and monitoring. It returns when the certificate of the first expires.
func makeMonitoredCaches(ctx context.Context, t *testing.T) time.Time {
	t.Helper()
	// Long enough that no alert fires.
	certificate := certificateFor(t, agenttesting.NewAuthority(t), "metered", 365*24*time.Hour)
	t.Cleanup(func() { must(t, deleteSecrets(context.Background())) })
	writeSecret(t, "metered-tls", certificate)
	writeSecret(t, "metered-users", userLines("shop:first"))
	for name, spec := range map[string]cachev1alpha1.MemcachedSpec{
		"metered": {Size: 2, Workload: cachev1alpha1.WorkloadStatefulSet, TLS: &cachev1alpha1.MemcachedTLS{SecretName: "metered-tls"},
			Auth: &cachev1alpha1.MemcachedAuth{SecretName: "metered-users"}, Monitoring: &cachev1alpha1.MemcachedMonitoring{}},
		"open": {Size: 1, Monitoring: &cachev1alpha1.MemcachedMonitoring{}},
		"bare": {},
	} {
		must(t, suite.cluster.Client.Create(ctx, &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec}))
	}
	for name, size := range map[string]int32{"metered": 2, "open": 1, "bare": 0} {
		_, err := suite.cluster.WaitReady(ctx, inDefault(name), size, 2*time.Minute)
		must(t, err)
	}
	return readCertificates(t, certificate).Leaf().NotAfter
}

// allIsWell waits for the second scrape of every pod, and expects the right samples and no alerts.
func allIsWell(ctx context.Context, t *testing.T, server *prometheus.Server, expires time.Time) {
	t.Helper()
	nodes := []string{onlyPodOf(ctx, t, "open").Name, "metered-0", "metered-1"}
	expect := func(expression string, want map[string]float64) {
		t.Helper()
		must(t, walk.Within(ctx, time.Minute, "Prometheus to have "+expression, func(ctx context.Context) error {
			samples, err := server.Samples(ctx, expression)
			if err != nil {
				return err
			}
			got := map[string]float64{}
			for _, sample := range samples {
				got[fmt.Sprintf("%s/%s/%s", sample.Metric["namespace"], sample.Metric["memcached"], sample.Metric["pod"])] += float64(sample.Value)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("it is %v, want %v", got, want)
			}
			return nil
		}))
	}
	each := func(value float64, pods ...string) map[string]float64 {
		want := map[string]float64{}
		for _, pod := range pods {
			cache, _, _ := strings.Cut(pod, "-")
			want["default/"+cache+"/"+pod] = value
		}
		return want
	}
	expect("sum by (namespace, memcached, pod) (count_over_time(memcached_up[5m])) >= bool 2", each(1, nodes...))
	expect("memcached_up", each(1, nodes...))
	expect(`sum by (namespace, memcached, pod) (memcached_agent_canary_duration_seconds_count) > bool 1`, each(1, nodes...))
	expect(`sum by (namespace, memcached, pod) (memcached_agent_canary_errors_total{operation=~"set|get"})`, each(0, nodes...))
	expect(`sum by (namespace, memcached, pod) (memcached_agent_starts_total)`, each(1, nodes...))
	expect("memcached_agent_certificate_not_after_timestamp_seconds", each(float64(expires.Unix()), "metered-0", "metered-1"))
	expect(`memcached_agent_reload_pending{what="users"}`, each(0, "metered-0", "metered-1"))
	expect(`max by (namespace) (memcached_operator_ready_objects{kind="Memcached"})`, map[string]float64{walk.Namespace + "//": 3})
	rulesWork(ctx, t, server)
	// Alerts wait much less here than in production, so one slow request or one failed scrape may be enough for a moment.
	must(t, walk.Within(ctx, 2*time.Minute, "no alert to fire without a problem", func(ctx context.Context) error {
		firing, err := server.Firing(ctx)
		if err == nil && len(firing) > 0 {
			err = fmt.Errorf("these fire: %v", firing)
		}
		return err
	}))
}

// rulesWork fails the test unless every rule was evaluated without an error.
func rulesWork(ctx context.Context, t *testing.T, server *prometheus.Server) {
	t.Helper()
	result, err := server.Rules(ctx, nil)
	must(t, err)
	rules := 0
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			rules++
			switch rule := rule.(type) {
			case v1.AlertingRule:
				if rule.Health != v1.RuleHealthGood {
					t.Errorf("the alert %s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
			case v1.RecordingRule:
				if rule.Health != v1.RuleHealthGood {
					t.Errorf("the record %s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
			}
		}
	}
	if rules < 12 {
		t.Errorf("Prometheus has %d rules only", rules)
	}
	t.Logf("%d rules in %d groups work", rules, len(result.Groups))
}

// goesWrong stops the memcached of one cache, and writes invalid users for another.
func goesWrong(ctx context.Context, t *testing.T, server *prometheus.Server) {
	t.Helper()
	open := onlyPodOf(ctx, t, "open")
	now, err := stateOf(ctx, open)
	must(t, err)
	signal := func(name string) {
		t.Helper()
		kubectl(ctx, t, "exec", open.Name, "-c", "memcached", "--", "sh", "-c", fmt.Sprintf("kill -%s %d", name, now.Process))
	}
	setUsers(ctx, t, slices.Repeat([]string{"user:password"}, 9)...)
	start := time.Now()
	signal("STOP")
	waitFiring(ctx, t, server, "MemcachedDown "+open.Name)
	t.Logf("the alert about a stopped memcached fired after %s", time.Since(start).Round(time.Second))
	signal("CONT")
	waitFiring(ctx, t, server, "MemcachedReloadFailing metered-0", "MemcachedReloadFailing metered-1", "MemcachedNotReady")
	firing, err := server.Firing(ctx)
	must(t, err)
	for _, alert := range firing {
		if strings.HasPrefix(alert, "MemcachedDown metered") || strings.HasPrefix(alert, "MemcachedMetricsMissing") || strings.HasPrefix(alert, "MemcachedCertificate") {
			t.Errorf("this fires as well: %s", alert)
		}
	}
	setUsers(ctx, t, "shop:second")
	waitQuiet(ctx, t, server, "MemcachedDown", "MemcachedReloadFailing", "MemcachedNotReady")
	samples, err := server.Samples(ctx, `min_over_time(memcached_up{memcached="metered"}[10m]) < 1`)
	must(t, err)
	if len(samples) > 0 {
		t.Errorf("with wrong users, agents could not log in any more: %v", samples)
	}
}

// setUsers writes the users of the cache "metered". The annotation makes the kubelet update the files now, and not only after
// up to a minute and a half.
func setUsers(ctx context.Context, t *testing.T, lines ...string) {
	t.Helper()
	writeSecret(t, "metered-users", userLines(lines...))
	kubectl(ctx, t, "annotate", "pods", "-n", "default", "-l", "app.kubernetes.io/instance=metered", "--overwrite", fmt.Sprintf("example.com/looked-at=%d", time.Now().Unix()))
}

// waitFiring waits until all of the alerts fire.
func waitFiring(ctx context.Context, t *testing.T, server *prometheus.Server, alerts ...string) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("%v to fire", alerts), func(ctx context.Context) error {
		firing, err := server.Firing(ctx)
		for _, alert := range alerts {
			if err == nil && !slices.Contains(firing, alert) {
				err = fmt.Errorf("these fire: %v", firing)
			}
		}
		return err
	}))
}

// waitQuiet waits until none of the alerts fires for any pod.
func waitQuiet(ctx context.Context, t *testing.T, server *prometheus.Server, alerts ...string) {
	t.Helper()
	must(t, walk.Within(ctx, 2*time.Minute, fmt.Sprintf("%v to end", alerts), func(ctx context.Context) error {
		firing, err := server.Firing(ctx)
		for _, alert := range firing {
			if name, _, _ := strings.Cut(alert, " "); slices.Contains(alerts, name) {
				err = errors.Join(err, fmt.Errorf("%s fires", alert))
			}
		}
		return err
	}))
}

// operatorLoggedNoError fails the test if the current pod of the operator has logged an error.
func operatorLoggedNoError(ctx context.Context, t *testing.T) {
	t.Helper()
	pod, err := onlyOperatorPod(ctx)
	must(t, err)
	for line := range strings.Lines(kubectl(ctx, t, "logs", pod.Name, "-n", walk.Namespace)) {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the operator logged an error: %s", line)
		}
	}
}
