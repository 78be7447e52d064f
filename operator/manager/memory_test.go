package manager_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// perCache is how many bytes of the heap a ready Memcached with default settings may take, with its Deployment, Service and record.
// 6.3 KiB were measured. Without slim.NewCache it would be 17 KiB.
const perCache = 7 << 10

// A cluster may have thousands of Memcacheds, and the memory limit of the operator is fixed.
func TestAMemcachedTakesLittleMemory(t *testing.T) {
	namespace := cluster.Namespace(t)
	startManager(t, namespace)
	createReady(t, namespace, 0, 50) // What the first ones take, others share.
	before := heap()
	const count = 250
	createReady(t, namespace, 50, 50+count)
	testkit.Await(t, "memory is free that only reconciles use", func(context.Context) error {
		if each := (heap() - before) / count; each > perCache {
			return fmt.Errorf("a Memcached takes %d bytes, want no more than %d", each, perCache)
		}
		return nil
	})
	t.Logf("a Memcached takes %d bytes", (heap()-before)/count)
}

// heap returns the bytes that are in use. What a finalizer or a weak pointer holds goes with the second collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// createReady creates Memcacheds and waits until they are ready. It stands in for the Deployment controller.
func createReady(t *testing.T, namespace string, from, to int) {
	t.Helper()
	var creating errgroup.Group
	creating.SetLimit(8)
	for i := from; i < to; i++ {
		creating.Go(func() error { return cluster.Client.Create(t.Context(), nth(namespace, i)) })
	}
	if err := creating.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := from; i < to; i++ {
		testkit.Await(t, fmt.Sprintf("there is Deployment %d", i), func(ctx context.Context) error {
			deployment := &appsv1.Deployment{}
			if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(nth(namespace, i)), deployment); err != nil {
				return err
			}
			return rollOut(ctx, deployment)
		})
	}
	for i := from; i < to; i++ {
		testkit.Await(t, fmt.Sprintf("Memcached %d reports what its Deployment says", i), func(ctx context.Context) error {
			memcached := &v1alpha1.Memcached{}
			err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(nth(namespace, i)), memcached)
			if err == nil && memcached.Status.Replicas != memcached.Spec.Size {
				err = fmt.Errorf("it reports %d pods", memcached.Status.Replicas)
			}
			return err
		})
	}
}

func nth(namespace string, number int) *v1alpha1.Memcached {
	return testkit.MakeMemcached(fmt.Sprintf("cache-%05d", number)).Namespace(namespace).Size(3).Obj()
}

// rollOut writes what the Deployment controller writes about a Deployment whose pods are all ready.
func rollOut(ctx context.Context, deployment *appsv1.Deployment) error {
	deployment.Annotations["deployment.kubernetes.io/revision"] = "1"
	if err := cluster.Client.Update(ctx, deployment); err != nil {
		return err
	}
	size, now := *deployment.Spec.Replicas, metav1.Now()
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
		Conditions: []appsv1.DeploymentCondition{
			{
				Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now,
				Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
			},
			{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: now, LastTransitionTime: now,
				Reason: "NewReplicaSetAvailable", Message: fmt.Sprintf("ReplicaSet %q has successfully progressed.", deployment.Name+"-7d8f9c6b5d"),
			},
		},
	}
	return cluster.Client.Status().Update(ctx, deployment)
}
