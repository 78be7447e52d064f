//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/walk"
)

// Only clients with permission can read the operator's metrics.
func metricsAreProtected(t *testing.T) {
	ctx := t.Context()
	const name = "memcached-metrics-nobody"
	token := serviceAccountToken(ctx, t, name)
	pod, err := onlyOperatorPod(ctx)
	must(t, err)
	address, stop, err := reach(ctx, pod, project.MetricsPort)
	must(t, err)
	t.Cleanup(stop)

	for name, refused := range map[string]struct {
		token  string
		status int
	}{
		"nobody":                {"", http.StatusUnauthorized},
		"somebody without role": {token, http.StatusForbidden},
	} {
		if status, _, err := scrape(ctx, address, refused.token); err != nil || status != refused.status {
			t.Errorf("metrics for %s: status %d, want %d: %v", name, status, refused.status, err)
		}
	}
	grantMetrics(ctx, t, name)
	// The manager caches a refusal for half a minute.
	must(t, walk.Within(ctx, time.Minute, "the role to give access to the metrics", func(ctx context.Context) error {
		status, body, err := scrape(ctx, address, token)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	}))
}

// The operator's metrics show the number of writes for a new cache: the record of its template, its Deployment, its Service, its
// Secret, its status and at most one intermediate status.
func newCacheCostsFewWrites(t *testing.T) {
	ctx := t.Context()
	// The operator writes this when it starts.
	must(t, suite.cluster.WaitReported(ctx, suite.version, metav1.ConditionTrue, time.Minute))
	reader := newMetricsReader(t)
	pod, err := onlyOperatorPod(ctx)
	must(t, err)
	patches := func() int {
		page, err := reader.read(ctx, pod)
		must(t, err)
		return page.patches()
	}
	before, start := patches(), time.Now()
	create(t, "default", "example-memcached.yaml")
	_, err = suite.cluster.WaitReady(ctx, inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)
	took := time.Since(start)
	writes := patches() - before
	t.Logf("a new cache of 3 pods was ready within %s and cost %d writes", took.Round(time.Millisecond), writes)
	// One more is due for each 10 seconds that a start takes longer than usual.
	if most := 6 + int(took/(10*time.Second)); writes < 5 || writes > most {
		t.Errorf("a new cache cost %d writes in %s, want what it owns (four objects), its status and an intermediate status at most", writes, took)
	}
}

// metrics is a page of metrics of the operator.
type metrics string

// sum adds the values of a metric whose labels contain the given words.
func (m metrics) sum(name string, labels ...string) float64 {
	sum := 0.0
	for line := range strings.Lines(string(m)) {
		if !strings.HasPrefix(line, name+"{") || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(line, l) }) {
			continue
		}
		fields := strings.Fields(line)
		if value, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
			sum += value
		}
	}
	return sum
}

// patches returns how many PATCH requests the operator has sent: all its server-side applies and status writes.
func (m metrics) patches() int {
	return int(m.sum("rest_client_requests_total", `method="PATCH"`))
}

// metricsReader reads the operator's metrics.
type metricsReader struct{ token string }

const metricsReaderName = "memcached-metrics-reader"

// newMetricsReader grants a service account access to the metrics until the test ends.
func newMetricsReader(t *testing.T) metricsReader {
	t.Helper()
	ctx := t.Context()
	token := serviceAccountToken(ctx, t, metricsReaderName)
	grantMetrics(ctx, t, metricsReaderName)
	return metricsReader{token: token}
}

// serviceAccountToken returns a token of a service account without any role.
func serviceAccountToken(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	const namespace = "default"
	if kubectl(ctx, t, "get", "serviceaccount", name, "-n", namespace, "--ignore-not-found", "-o", "name") == "" {
		kubectl(ctx, t, "create", "serviceaccount", name, "-n", namespace)
		t.Cleanup(func() {
			kubectl(context.Background(), t, "delete", "serviceaccount", name, "-n", namespace, "--ignore-not-found")
		})
	}
	return strings.TrimSpace(kubectl(ctx, t, "create", "token", name, "-n", namespace))
}

// grantMetrics binds the service account to the released role for readers of metrics.
func grantMetrics(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if kubectl(ctx, t, "get", "clusterrolebinding", name, "--ignore-not-found", "-o", "name") != "" {
		return
	}
	kubectl(ctx, t, "create", "clusterrolebinding", name, "--clusterrole=memcached-operator-metrics-reader", "--serviceaccount=default:"+name)
	t.Cleanup(func() {
		kubectl(context.Background(), t, "delete", "clusterrolebinding", name, "--ignore-not-found")
	})
}

// read reads the metrics of a pod of the operator.
func (r metricsReader) read(ctx context.Context, pod *corev1.Pod) (metrics, error) {
	address, stop, err := reach(ctx, pod, project.MetricsPort)
	if err != nil {
		return "", err
	}
	defer stop()
	status, body, err := scrape(ctx, address, r.token)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("metrics: status %d: %s", status, body)
	}
	return metrics(body), err
}

// onlyOperatorPod returns the pod of the operator. It is an error if there are several, as during an upgrade.
func onlyOperatorPod(ctx context.Context) (*corev1.Pod, error) {
	pods, err := suite.cluster.OperatorPods(ctx)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("found %d pods of the operator", len(pods))
	}
	return &pods[0], nil
}

// scrape requests the metrics at the address (host:port).
func scrape(ctx context.Context, address, token string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The manager creates its own certificate at its start.
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	response, err := insecure.Do(request)
	if err != nil {
		return 0, "", err
	}
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), errors.Join(err, response.Body.Close())
}
