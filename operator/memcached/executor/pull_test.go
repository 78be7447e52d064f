package executor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// One after the other, because the limit is one for all namespaces.
func TestPullPods(t *testing.T) {
	f := newFixture(t)
	namespaces := []string{f.set.Namespace, cluster.Namespace(t), cluster.Namespace(t)}
	t.Cleanup(func() {
		for _, namespace := range namespaces {
			f.must(cluster.Client.DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)))
		}
	})
	f.reportsForeignPullPods()
	f.deletesPullPodsAgain()
	f.limitsPullPods(namespaces[0], namespaces[1], namespaces[2])
}

// limitsPullPods: the caches of a namespace, and those of all namespaces together, create only some pods that pull images at a time. The
// others are created when these have ended, or cannot go on.
func (f *fixture) limitsPullPods(crowded, another, third string) {
	t := f.T
	create := func(namespace string, first, last int) (created int) {
		pulls := desired.Pulls{Now: time.Now(), StatefulSet: appsv1ac.StatefulSet("cache", namespace)}
		for i := first; i <= last; i++ {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("pull-%d", i)}}
			pod.Labels = map[string]string{"app.kubernetes.io/managed-by": "memcached-operator", "app.kubernetes.io/component": "pull"}
			pod.Annotations = map[string]string{inputs.PullAnnotation: `{"container":"agent","image":"agent:2"}`}
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Owner", Name: "cache", UID: "uid", Controller: ptr.To(true)}}
			pod.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:2"}}
			pulls.Create = append(pulls.Create, pod)
		}
		refused, _, err := f.executor.Pull(t.Context(), pulls)
		f.must(err)
		if len(refused) > 0 {
			t.Errorf("refused are %v", refused)
		}
		found := &corev1.PodList{}
		f.must(cluster.Client.List(t.Context(), found, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": "pull"}))
		return len(found.Items)
	}
	if got := create(crowded, 1, 22); got != 10 {
		t.Fatalf("%d pods were created in a namespace, want 10", got)
	}
	backOff := corev1.ContainerStatus{Name: "agent", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}
	done := corev1.ContainerStatus{Name: "agent", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	for i, status := range []corev1.PodStatus{{ContainerStatuses: []corev1.ContainerStatus{done}}, {ContainerStatuses: []corev1.ContainerStatus{backOff}}} {
		ended := &corev1.Pod{}
		f.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: crowded, Name: fmt.Sprintf("pull-%d", i+1)}, ended))
		ended.Status = status
		f.must(cluster.Client.Status().Update(t.Context(), ended))
		if got := create(crowded, 11+i, 11+i); got != 11+i {
			t.Errorf("there are %d pods, want another one", got)
		}
	}
	if got := create(another, 1, 22); got != 10 {
		t.Errorf("beside a crowded namespace, %d pods were created, want 10", got)
	}
	if got := create(third, 1, 22); got != 0 {
		t.Errorf("beside two crowded namespaces, %d pods were created, want none", got)
	}
}

// deletesPullPodsAgain: a deletion that meets another pod of the name, or none, is tried again with a newer copy. Nothing else may reconcile
// the cache.
func (f *fixture) deletesPullPodsAgain() {
	t := f.T
	for _, name := range []string{"pull", "no-pull"} {
		outdated := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.set.Namespace, Name: name, UID: "another"}}
		if _, after, err := f.executor.Pull(t.Context(), desired.Pulls{Delete: []*corev1.Pod{outdated}}); after == 0 || err != nil {
			t.Errorf("pod %s is deleted again after %s, %v", name, after, err)
		}
	}
	found := &corev1.Pod{}
	f.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: "pull"}, found))
	if _, after, err := f.executor.Pull(t.Context(), desired.Pulls{Delete: []*corev1.Pod{found}}); after != 0 || err != nil {
		t.Errorf("the pod is deleted again after %s, %v", after, err)
	}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(found), found); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the pod is there: %v", err)
	}
}

// reportsForeignPullPods: a pod of somebody else that has the name of a pull pod would be waited for in vain. One to which an admission policy
// has added a label is the operator's.
func (f *fixture) reportsForeignPullPods() {
	t := f.T
	pull := func(owner string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.set.Namespace, Name: "pull"}}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Owner", Name: "cache", UID: types.UID(owner), Controller: ptr.To(true)}}
		pod.Labels = map[string]string{"app.kubernetes.io/component": "pull"}
		pod.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:2"}}
		return pod
	}
	byPolicy := pull("own")
	byPolicy.Labels["mesh"] = "on"
	for owner, want := range map[string]string{"own": "", "another": "pod pull, which is to pull images, belongs to somebody else or was changed: delete it"} {
		pulls := desired.Pulls{Now: time.Now(), StatefulSet: appsv1ac.StatefulSet("cache", f.set.Namespace), Create: []*corev1.Pod{pull(owner)}}
		err := cluster.Client.Create(t.Context(), byPolicy.DeepCopy())
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		refused, _, err := f.executor.Pull(t.Context(), pulls)
		f.must(err)
		if refused["pull"].Message != want {
			t.Errorf("of %s, it is refused because %q, want %q", owner, refused["pull"].Message, want)
		}
	}
}
