//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

// A HorizontalPodAutoscaler sets the number of pods of both kinds within its bounds, which needs no metrics.
func autoscaled(t *testing.T) {
	t.Run("a Memcached", autoscaledCache)
	t.Run("an Application", autoscaledApplication)
}

func autoscaledCache(t *testing.T) {
	p := produce(t, "autoscaled", 1, "workload: StatefulSet")
	servers := p.servers(clients.Access{})
	const items = 1000
	p.storeAll(servers, items, smallItem)
	loads := p.use(servers)
	before := p.pods()
	for _, bounds := range []struct{ least, most, size int32 }{{3, 4, 3}, {1, 2, 2}} {
		autoscale(t, "cache.example.com/v1alpha1", "Memcached", p.key.Name, bounds.least, bounds.most)
		p.size = bounds.size
		p.ready(2 * time.Minute)
		p.complete(servers, items)
		p.same(before)
		p.unnoticed(fmt.Sprintf("%d pods", bounds.size), loads...)
	}
}

func autoscaledApplication(t *testing.T) {
	const name = "autoscaled"
	image, err := webImage()
	must(t, err)
	makeApplication(t, "default", name, webSpec(image, `,"replicas":1`))
	waitReady(t, "default", name)
	for _, bounds := range []struct{ least, most, size int32 }{{3, 4, 3}, {1, 2, 2}} {
		autoscale(t, "app.example.com/v1alpha1", "Application", name, bounds.least, bounds.most)
		kubectl(t.Context(), t, "wait", "application/"+name, "-n", "default", fmt.Sprintf("--for=jsonpath={.spec.replicas}=%d", bounds.size), "--timeout=1m")
		waitReady(t, "default", name)
		waitPods(t, name, int(bounds.size))
	}
}

// autoscale lets a HorizontalPodAutoscaler scale a resource until the test ends, and waits until it knows which pods belong to it.
func autoscale(t *testing.T, apiVersion, kind, name string, least, most int32) {
	t.Helper()
	autoscaler := strings.ToLower(kind) + "-" + name
	t.Cleanup(func() { must(t, suite.cluster.Delete(context.Background(), "hpa", autoscaler, "-n", "default")) })
	must(t, applyManifest(t, fmt.Sprintf(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %s, namespace: default}
spec:
  scaleTargetRef: {apiVersion: %s, kind: %s, name: %s}
  minReplicas: %d
  maxReplicas: %d
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
`, autoscaler, apiVersion, kind, name, least, most)))
	must(t, walk.Within(t.Context(), 2*time.Minute, "the HorizontalPodAutoscaler to find the pods", func(ctx context.Context) error {
		var found autoscalingv2.HorizontalPodAutoscaler
		if err := suite.cluster.Client.Get(ctx, inDefault(autoscaler), &found); err != nil {
			return err
		}
		return findsPods(found)
	}))
}

// findsPods returns nil once a HorizontalPodAutoscaler keeps its bounds and has asked for the metrics of the pods that the label selector
// selects. Where nobody serves metrics, it says so.
func findsPods(found autoscalingv2.HorizontalPodAutoscaler) error {
	if current := found.Status.CurrentReplicas; current < *found.Spec.MinReplicas || current > found.Spec.MaxReplicas {
		return fmt.Errorf("there are %d pods: %+v", current, found.Status.Conditions)
	}
	for _, condition := range found.Status.Conditions {
		switch {
		case condition.Type == autoscalingv2.AbleToScale && condition.Status != corev1.ConditionTrue:
			return fmt.Errorf("it cannot scale: %s", condition.Message)
		case condition.Type == autoscalingv2.ScalingActive && (condition.Status == corev1.ConditionTrue || condition.Reason == "FailedGetResourceMetric"):
			return nil
		}
	}
	return errors.Join(errors.New("it has not asked for metrics"), fmt.Errorf("%+v", found.Status.Conditions))
}
