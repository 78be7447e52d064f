//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/prometheus"
	"github.com/example/memcached-operator/olm/walk"
)

// addMonitoringKinds installs the CRDs of the Prometheus Operator and the Grafana Operator, and restarts the operator: it
// looks for them at its start, and then every five minutes. The returned function deletes the CRDs. The end of the test does
// so too.
func addMonitoringKinds(ctx context.Context, t *testing.T) (remove func()) {
	t.Helper()
	kinds := filepath.Join(suite.root, "operator", "monitoring", "testdata", "crds.yaml")
	remove = func() { must(t, suite.cluster.Delete(context.Background(), "-f", kinds, "--timeout=60s")) }
	t.Cleanup(remove)
	kubectl(ctx, t, "apply", "-f", kinds)
	kubectl(ctx, t, "wait", "-f", kinds, "--for=condition=Established", "--timeout=60s")
	restartOperator(ctx, t)
	return remove
}

// monitoringObjects are the objects that the operator creates of these kinds, for itself and for each cache.
var monitoringObjects = []string{
	"prometheusrules.monitoring.coreos.com " + walk.Namespace + "/memcached-operator-alerts",
	"servicemonitors.monitoring.coreos.com " + walk.Namespace + "/memcached-operator-metrics",
	"configmaps " + walk.Namespace + "/memcached-operator-dashboard",
	"grafanadashboards.grafana.integreatly.org " + walk.Namespace + "/memcached-operator-dashboard",
	"servicemonitors.monitoring.coreos.com default/metered",
	"servicemonitors.monitoring.coreos.com default/open",
}

func waitMonitoringObjects(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, walk.Within(ctx, time.Minute, "the operator to create objects for monitoring", func(ctx context.Context) error {
		var missing []error
		for _, object := range monitoringObjects {
			kind, key, _ := strings.Cut(object, " ")
			namespace, name, _ := strings.Cut(key, "/")
			if _, err := suite.cluster.Kubectl(ctx, "get", kind, name, "-n", namespace, "-o", "name"); err != nil {
				missing = append(missing, err)
			}
		}
		return errors.Join(missing...)
	}))
}

// startPrometheus starts a Prometheus with the rules and jobs of the objects on the cluster. A scrape may take ten seconds,
// which is Prometheus' default.
func startPrometheus(ctx context.Context, t *testing.T, program string) *prometheus.Server {
	t.Helper()
	rules := monitoringObject(ctx, t, "PrometheusRule", types.NamespacedName{Namespace: walk.Namespace, Name: "memcached-operator-alerts"})
	groups, _, err := unstructured.NestedSlice(rules.Object, "spec", "groups")
	must(t, err)
	shortened, err := prometheus.ShortenFor(groups, alertsWait)
	must(t, err)
	t.Logf("%d alerts wait for %s here, instead of minutes", shortened, alertsWait)
	config := prometheus.Config{Groups: groups}
	for _, key := range []types.NamespacedName{{Namespace: walk.Namespace, Name: "memcached-operator-metrics"}, inDefault("metered"), inDefault("open")} {
		config.Jobs = append(config.Jobs, jobsOf(ctx, t, monitoringObject(ctx, t, "ServiceMonitor", key))...)
	}
	server, err := prometheus.Start(ctx, program, t.TempDir(), config)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Prometheus logged:\n%s", server.Log())
		}
		must(t, server.Stop())
	})
	return server
}

func monitoringObject(ctx context.Context, t *testing.T, kind string, key types.NamespacedName) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind})
	must(t, suite.cluster.Client.Get(ctx, key, object))
	return object
}

// jobsOf returns a job for each endpoint of a ServiceMonitor.
func jobsOf(ctx context.Context, t *testing.T, monitor *unstructured.Unstructured) []prometheus.Job {
	t.Helper()
	labels, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	must(t, err)
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	must(t, err)
	var jobs []prometheus.Job
	for i, endpoint := range endpoints {
		fields := endpoint.(map[string]any)
		job := prometheus.Job{Name: fmt.Sprintf("%s/%s/%d", monitor.GetNamespace(), monitor.GetName(), i)}
		job.Relabelings, _ = fields["relabelings"].([]any)
		port, _ := fields["port"].(string)
		job.Targets = targetsOf(ctx, t, monitor.GetNamespace(), labels, port)
		if _, shown := fields["bearerTokenFile"]; shown {
			job.TokenFile = filepath.Join(t.TempDir(), "token")
			must(t, os.WriteFile(job.TokenFile, []byte(newMetricsReader(t).token), 0o600))
		}
		if len(job.Targets) == 0 {
			t.Errorf("ServiceMonitor %s finds nothing at port %s of Services with %v", monitor.GetName(), port, labels)
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// targetsOf returns a target for each pod behind a port of each Service with the labels.
func targetsOf(ctx context.Context, t *testing.T, namespace string, labels map[string]string, port string) []prometheus.Target {
	t.Helper()
	var services corev1.ServiceList
	must(t, suite.cluster.Client.List(ctx, &services, client.InNamespace(namespace), client.MatchingLabels(labels)))
	var targets []prometheus.Target
	for _, service := range services.Items {
		var slicesOf discoveryv1.EndpointSliceList
		must(t, suite.cluster.Client.List(ctx, &slicesOf, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}))
		for _, slice := range slicesOf.Items {
			i := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == port })
			if i < 0 {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				targets = append(targets, targetOf(ctx, t, namespace, endpoint.TargetRef.Name, int(*slice.Ports[i].Port)))
			}
		}
	}
	return targets
}

func targetOf(ctx context.Context, t *testing.T, namespace, name string, port int) prometheus.Target {
	t.Helper()
	var pod corev1.Pod
	must(t, suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pod))
	address, stop, err := reach(ctx, &pod, port)
	must(t, err)
	t.Cleanup(stop)
	return prometheus.Target{Address: address, Labels: map[string]string{"namespace": namespace, "pod": name}}
}
