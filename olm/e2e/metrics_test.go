//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/walk"
)

// The operator's metrics are for those who may read them, and say what it costs to keep
// a cache: its Deployment, its status and one intermediate status at the most.
func TestMetricsAndWritesPerCache(t *testing.T) {
	ctx := installed(t)
	const namespace, reader = "default", "memcached-metrics-reader"
	kubectl(ctx, t, "create", "serviceaccount", reader, "-n", namespace)
	t.Cleanup(func() {
		kubectl(context.Background(), t, "delete", "clusterrolebinding", reader, "--ignore-not-found")
		kubectl(context.Background(), t, "delete", "serviceaccount", reader, "-n", namespace)
	})
	token := strings.TrimSpace(kubectl(ctx, t, "create", "token", reader, "-n", namespace))
	address := metricsAddress(t)

	for name, refused := range map[string]struct {
		token  string
		status int
	}{
		"nobody":                {"", http.StatusUnauthorized},
		"somebody without role": {token, http.StatusForbidden},
	} {
		if status, _ := scrape(t, address, refused.token); status != refused.status {
			t.Errorf("metrics for %s: status %d, want %d", name, status, refused.status)
		}
	}
	kubectl(ctx, t, "create", "clusterrolebinding", reader, "--clusterrole=memcached-operator-metrics-reader", "--serviceaccount="+namespace+":"+reader)
	// The manager remembers a refusal for half a minute.
	must(t, walk.Within(ctx, time.Minute, "the metrics to open to the role", func(context.Context) error {
		if status, body := scrape(t, address, token); status != http.StatusOK {
			return fmt.Errorf("status %d: %s", status, body)
		}
		return nil
	}))

	before, start := patches(t, address, token), time.Now()
	create(t, "example-memcached.yaml")
	_, err := suite.cluster.WaitReady(ctx, inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)
	took := time.Since(start)
	writes := patches(t, address, token) - before
	t.Logf("a new cache of 3 pods was ready within %s and cost %d writes", took.Round(time.Millisecond), writes)
	// One more is due for each 10 seconds that a start takes longer than usual.
	if most := 3 + int(took/(10*time.Second)); writes < 2 || writes > most {
		t.Errorf("a new cache cost %d writes in %s, want its Deployment, its status and an intermediate status at most", writes, took)
	}
}

// metricsAddress forwards a port to the running manager.
func metricsAddress(t *testing.T) string {
	t.Helper()
	var pods corev1.PodList
	must(t, suite.cluster.Client.List(t.Context(), &pods, client.InNamespace(walk.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "memcached-operator"}))
	if len(pods.Items) != 1 {
		t.Fatalf("found %d pods of the operator", len(pods.Items))
	}
	address, stop, err := suite.cluster.Forward(t.Context(), types.NamespacedName{Namespace: walk.Namespace, Name: pods.Items[0].Name}, 8443)
	must(t, err)
	t.Cleanup(stop)
	return address
}

func scrape(t *testing.T, address, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
	must(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The manager makes its own certificate at start, which nobody can know.
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	response, err := insecure.Do(request)
	must(t, err)
	raw, err := io.ReadAll(response.Body)
	must(t, err)
	must(t, response.Body.Close())
	return response.StatusCode, string(raw)
}

// patches is how many PATCH requests the operator has sent: server-side applies and
// status writes are all of them.
func patches(t *testing.T, address, token string) int {
	t.Helper()
	_, body := scrape(t, address, token)
	sum := 0
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "rest_client_requests_total{") && strings.Contains(line, `method="PATCH"`) {
			fields := strings.Fields(line)
			n, err := strconv.Atoi(fields[len(fields)-1])
			must(t, err)
			sum += n
		}
	}
	return sum
}
