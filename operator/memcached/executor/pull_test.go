package executor_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/memcached/desired"
)

// All caches together create only some pods that pull images at a time. The others are created when these have ended, or cannot go on.
func TestPullPodsAreLimited(t *testing.T) {
	f := newFixture(t)
	create := func(names ...string) (created int) {
		pulls := desired.Pulls{Now: time.Now(), StatefulSet: appsv1ac.StatefulSet("cache", f.set.Namespace)}
		for _, name := range names {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.set.Namespace, Name: name}}
			pod.Labels = map[string]string{"app.kubernetes.io/managed-by": "memcached-operator", "app.kubernetes.io/component": "pull"}
			pod.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:2"}}
			pulls.Create = append(pulls.Create, pod)
		}
		refused, err := f.executor.Pull(t.Context(), pulls)
		f.must(err)
		if len(refused) > 0 {
			t.Errorf("refused are %v", refused)
		}
		found := &corev1.PodList{}
		f.must(cluster.Client.List(t.Context(), found, client.InNamespace(f.set.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "pull"}))
		return len(found.Items)
	}
	var names []string
	for i := range 22 {
		names = append(names, fmt.Sprintf("pull-%d", i))
	}
	if got := create(names...); got != 20 {
		t.Fatalf("%d pods were created, want 20", got)
	}
	backOff := corev1.ContainerStatus{Name: "agent", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}
	for i, status := range []corev1.PodStatus{{Phase: corev1.PodSucceeded}, {ContainerStatuses: []corev1.ContainerStatus{backOff}}} {
		ended := &corev1.Pod{}
		f.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: names[i]}, ended))
		ended.Status = status
		f.must(cluster.Client.Status().Update(t.Context(), ended))
		if got := create(names[20+i]); got != 21+i {
			t.Errorf("there are %d pods, want another one", got)
		}
	}
}
