package memcached

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/apply"
	operatortesting "github.com/example/memcached-operator/operator/testing"
)

// running returns a Deployment of ours whose rollout has ended, changed as the case wants it.
func running(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Generation:      1,
			Labels:          map[string]string{"app.kubernetes.io/instance": "cache"},
			Annotations:     map[string]string{apply.HashAnnotation: "one"},
			OwnerReferences: []metav1.OwnerReference{{UID: "owner"}},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3,
		},
	}
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func replicas(count int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas, d.Generation = ptr.To(count), d.Generation+1 }
}

func hashed(hash string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations = map[string]string{apply.HashAnnotation: hash} }
}

func readyNodes(count int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Status.ReadyReplicas = count }
}

func TestWhatTheUserWaitsForIsUrgent(t *testing.T) {
	old := operatortesting.MakeMemcached("cache")
	for name, test := range map[string]struct {
		delay       func(before, now client.Object) time.Duration
		before, now client.Object
		urgent      bool
	}{
		"a new cache":            {delay: memcachedChange, now: old.Obj(), urgent: true},
		"a new spec":             {delay: memcachedChange, before: old.Obj(), now: old.Generation(2).Obj(), urgent: true},
		"a deleted cache":        {delay: memcachedChange, before: old.Obj(), urgent: true},
		"our own status":         {delay: memcachedChange, before: old.Obj(), now: old.Obj()},
		"our new Deployment":     {delay: deploymentChange, now: running()},
		"a deleted Deployment":   {delay: deploymentChange, before: running(), urgent: true},
		"drift in the spec":      {delay: deploymentChange, before: running(), now: running(replicas(7)), urgent: true},
		"our own change":         {delay: deploymentChange, before: running(), now: running(replicas(5), hashed("two"))},
		"our annotation is gone": {delay: deploymentChange, before: running(), now: running(hashed("")), urgent: true},
		"a label is changed": {delay: deploymentChange, before: running(), urgent: true, now: running(func(d *appsv1.Deployment) {
			d.Labels = nil
		})},
		"the owner is taken away": {delay: deploymentChange, before: running(), urgent: true, now: running(func(d *appsv1.Deployment) {
			d.OwnerReferences = nil
		})},
		"an annotation of others": {delay: deploymentChange, before: running(), now: running(func(d *appsv1.Deployment) {
			d.Annotations["deployment.kubernetes.io/revision"], d.Generation = "1", 2
		})},
		"one of several nodes is ready":   {delay: deploymentChange, before: running(readyNodes(0)), now: running(readyNodes(1))},
		"the last node is ready":          {delay: deploymentChange, before: running(readyNodes(2)), now: running(), urgent: true},
		"a node is lost":                  {delay: deploymentChange, before: running(), now: running(readyNodes(2)), urgent: true},
		"a node stops that is not wanted": {delay: deploymentChange, before: running(replicas(2)), now: running(replicas(2), readyNodes(2))},
		"a status of an older spec": {delay: deploymentChange, before: running(readyNodes(2)), now: running(func(d *appsv1.Deployment) {
			d.Generation = 2
		})},
		"an outdated node is left": {delay: deploymentChange, before: running(readyNodes(2)), now: running(func(d *appsv1.Deployment) {
			d.Status.UpdatedReplicas = 2
		})},
		"a pod": {delay: podChange, now: &corev1.Pod{}},
	} {
		t.Run(name, func(t *testing.T) {
			want := settle
			if test.urgent {
				want = 0
			}
			if got := test.delay(test.before, test.now); got != want {
				t.Errorf("looked at after %s, want %s", got, want)
			}
		})
	}
}
