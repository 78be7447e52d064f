package manager_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// image is as long as those that the operator knows.
const image = "docker.io/library/memcached@sha256:f2ec63287d2a20993885a55d630756819317e76ddd404f90000953e80c188237"

// startManager runs a manager for a namespace until the end of the test. Its requests are not counted, which would take memory.
func startManager(t *testing.T, namespace string) ctrlmanager.Manager {
	t.Helper()
	mgr, err := manager.New(rest.CopyConfig(cluster.Config), manager.Options{
		MetricsAddress: "0", HealthAddress: "0", WatchNamespaces: []string{namespace}, Logger: logr.Discard(),
		Metrics: prometheus.NewRegistry(), Images: inputs.Images{Memcached: map[string]string{"1.6.18": image}, Default: "1.6.18"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-mgr.Elected()
	return mgr
}

// pod returns a pod that the operator holds in memory, or one of somebody else.
func pod(namespace, name, managedBy string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{owned.LabelManagedBy: managedBy, "team": name},
			Annotations: map[string]string{"example.com/note": "text"},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "memcached", Image: image, Args: []string{"-m", "64"}}},
		},
	}
}

// The cache holds little of each object. Who reads it notices nothing of that.
func TestTheCacheReturnsObjectsAsTheyAreInTheCluster(t *testing.T) {
	namespace := cluster.Namespace(t)
	reader := startManager(t, namespace).GetCache()
	// There is no ServiceAccount controller, which pods need.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	mine, other, foreign := pod(namespace, "mine", owned.Manager), pod(namespace, "other", owned.Manager), pod(namespace, "foreign", "helm")
	for _, object := range []client.Object{account, mine, other, foreign} {
		if err := cluster.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	mine.ManagedFields = nil
	found := &corev1.Pod{}
	testkit.Await(t, "the cache has all pods", func(ctx context.Context) error {
		return errors.Join(reader.Get(ctx, client.ObjectKeyFromObject(mine), found), reader.Get(ctx, client.ObjectKeyFromObject(other), &corev1.Pod{}))
	})
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	mine.SetGroupVersionKind(kind)
	if difference := cmp.Diff(mine, found); difference != "" {
		t.Errorf("the cache returns (-want +got):\n%s", difference)
	}
	for name, options := range map[string][]client.ListOption{
		"listed": {client.MatchingLabels{"team": "mine"}}, "listed without a copy": {client.MatchingLabels{"team": "mine"}, client.UnsafeDisableDeepCopy},
	} {
		list := &corev1.PodList{}
		if err := reader.List(t.Context(), list, options...); err != nil || len(list.Items) != 1 {
			t.Fatalf("%s: %d pods, %v", name, len(list.Items), err)
		}
		list.Items[0].SetGroupVersionKind(kind)
		if difference := cmp.Diff(*mine, list.Items[0]); difference != "" {
			t.Errorf("%s, the cache returns (-want +got):\n%s", name, difference)
		}
		list.Items[0].Labels["team"], list.Items[0].Spec.Containers[0].Image = "changed", "changed" // The next reader must not notice.
	}
	all := &corev1.PodList{}
	if err := reader.List(t.Context(), all); err != nil || len(all.Items) != 2 {
		t.Errorf("the cache holds %d pods, want only those of the operator: %v", len(all.Items), err)
	}
}

// What the cache cannot do is an error, and not an empty answer.
func TestTheCacheSaysWhatItCannotDo(t *testing.T) {
	reader := startManager(t, cluster.Namespace(t)).GetCache()
	managed := client.MatchingLabels{owned.LabelManagedBy: owned.Manager}
	err := reader.List(t.Context(), &appsv1.DeploymentList{}, managed, client.Limit(1))
	if err == nil || !strings.Contains(err.Error(), "*v1.Deployment cannot be listed by labels with a limit") {
		t.Errorf("Deployments by labels with a limit: %v", err)
	}
	err = reader.IndexField(t.Context(), &corev1.Pod{}, "spec.nodeName", func(client.Object) []string { return nil })
	if err == nil || !strings.Contains(err.Error(), "*v1.Pod cannot be indexed by spec.nodeName") {
		t.Errorf("pods by a field: %v", err)
	}
}

// Handlers of events get whole objects, however they are added.
func TestEventsHaveWholeObjects(t *testing.T) {
	namespace := cluster.Namespace(t)
	reader := startManager(t, namespace).GetCache()
	var wrong, added, changed, deleted atomic.Int32
	count := func(counter *atomic.Int32, objects ...any) {
		for _, object := range objects {
			if pod, ok := object.(*corev1.Pod); !ok || len(pod.Spec.Containers) != 1 || pod.Labels["team"] != "mine" {
				wrong.Add(1)
			}
		}
		counter.Add(1)
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { count(&added, object) },
		UpdateFunc: func(before, now any) { count(&changed, before, now) },
		DeleteFunc: func(object any) { count(&deleted, object) },
	}
	byObject, err := reader.GetInformer(t.Context(), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	byKind, err := reader.GetInformerForKind(t.Context(), corev1.SchemeGroupVersion.WithKind("Pod"))
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := byObject.AddEventHandler(handler)
	_, err2 := byObject.AddEventHandlerWithResyncPeriod(handler, 0)
	_, err3 := byKind.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	mine := pod(namespace, "mine", owned.Manager)
	if err := errors.Join(cluster.Client.Create(t.Context(), account), cluster.Client.Create(t.Context(), mine)); err != nil {
		t.Fatal(err)
	}
	mine.Annotations["example.com/note"] = "changed"
	if err := errors.Join(cluster.Client.Update(t.Context(), mine), cluster.Client.Delete(t.Context(), mine, client.GracePeriodSeconds(0))); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "three handlers have seen a creation, a change and a deletion", func(context.Context) error {
		if added.Load() != 3 || changed.Load() < 3 || deleted.Load() != 3 {
			return fmt.Errorf("%d, %d and %d", added.Load(), changed.Load(), deleted.Load())
		}
		return nil
	})
	if wrong.Load() > 0 {
		t.Errorf("%d objects were not whole", wrong.Load())
	}
}
