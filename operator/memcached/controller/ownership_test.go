package controller_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// foreign returns a Deployment that somebody else has made.
func (s *suite) foreign(name string, labels map[string]string) *appsv1.Deployment {
	selector := map[string]string{"app": "foreign"}
	deployment := s.deployment(name)
	deployment.Labels = labels
	deployment.Spec = appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		Selector: &metav1.LabelSelector{MatchLabels: selector},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "foreign", Image: "foreign"}}},
		},
	}
	return deployment
}

func TestAForeignDeploymentIsLeftAloneUntilItIsGone(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"without labels":  nil,
		"with our labels": {"app.kubernetes.io/managed-by": "memcached-operator", "app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": "cache"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			foreign := s.foreign("cache", labels)
			s.Create(foreign)
			s.create("cache", 2)
			message := s.awaitReason(v1alpha1.ReasonNameConflict)
			if !strings.Contains(message, "Deployment cache already exists") || !strings.Contains(message, "delete or rename") {
				t.Errorf("the message does not say what is wrong and how to mend it: %q", message)
			}
			s.AwaitEvent(v1alpha1.ReasonNameConflict, "Deployment cache")
			found := testenv.MustGet[v1alpha1.Memcached](s.Env, "cache")
			if found.Status.ObservedGeneration != 0 || found.Status.Replicas != 0 || len(found.Status.Nodes) > 0 || found.Status.Pending != nil {
				t.Errorf("the status takes the foreign Deployment for ours: %+v", found.Status)
			}
			now := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
			if difference := cmp.Diff(foreign.Spec, now.Spec); difference != "" || len(now.OwnerReferences) > 0 || !cmp.Equal(foreign.Labels, now.Labels) {
				t.Errorf("the foreign Deployment was changed: %s %v %v", difference, now.OwnerReferences, now.Labels)
			}
			s.Delete(now)
			s.Edit(s.memcached("cache"), `{"spec":{"size":1}}`) // Otherwise it is looked at within a minute.
			s.awaitReady("cache", 1)
		})
	}
}

// An object that cannot be applied does not stop the others: above all, no cache runs without its NetworkPolicy.
func TestAForeignServiceStopsNoOtherObject(t *testing.T) {
	s := newSuite(t)
	foreign := s.service()
	foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	s.Create(foreign)
	s.create("cache", 1, func(spec *v1alpha1.MemcachedSpec) {
		spec.NetworkPolicy, spec.Service = &v1alpha1.MemcachedNetworkPolicy{}, &v1alpha1.MemcachedService{}
	})
	if message := s.awaitReason(v1alpha1.ReasonNameConflict); !strings.HasPrefix(message, "Service cache-nodes already exists") {
		t.Errorf("the message is %q", message)
	}
	for _, object := range []client.Object{
		testenv.Named[networkingv1.NetworkPolicy](s.Env, "cache"), s.deployment("cache"), testenv.Named[corev1.Service](s.Env, "cache"),
	} {
		if err := s.Read(t.Context(), object); err != nil {
			t.Error(err)
		}
	}
	if err := s.Read(t.Context(), s.secret()); !apierrors.IsNotFound(err) {
		t.Errorf("the binding leads to somebody else's Service: %v", err)
	}
	s.Delete(foreign)
	s.Edit(s.memcached("cache"), `{"spec":{"size":2}}`) // Otherwise it is looked at within a minute.
	s.awaitReady("cache", 2)
}

// Deleting a cache with --cascade=orphan and creating it again keeps the nodes, and with them what they hold.
func TestAnOrphanedDeploymentIsTakenBack(t *testing.T) {
	s := newSuite(t)
	object := s.create("cache", 2)
	nodes := s.awaitReady("cache", 2).Status.Nodes
	s.Operator.Stop()
	s.Delete(object, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	s.Await("the cache is gone", func(ctx context.Context) error {
		if err := s.Read(ctx, s.memcached("cache")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	s.StartOperator()
	s.create("cache", 2)
	if again := s.awaitReady("cache", 2).Status.Nodes; !cmp.Equal(nodes, again) {
		t.Errorf("nodes %v became %v", nodes, again)
	}
}

// The Deployment of a deleted cache is not adopted by its successor: the garbage collector is about to delete it.
func TestACacheThatIsCreatedAgainWaitsForTheOldOneToGo(t *testing.T) {
	s := newSuite(t)
	first := s.create("cache", 2)
	s.awaitReady("cache", 2)
	old := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
	allow := s.ForbidDeletion("deployments", old)
	s.Delete(first)
	second := s.create("cache", 1)
	if message := s.awaitReason(v1alpha1.ReasonWaitingForDeletion); !strings.Contains(message, "still being deleted") {
		t.Errorf("the message is %q", message)
	}
	allow()
	s.Await("a new Deployment of the new cache", func(ctx context.Context) error {
		now, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
		if err != nil {
			return err
		}
		if now.UID == old.UID || !metav1.IsControlledBy(now, second) {
			return fmt.Errorf("owners are %v", now.OwnerReferences)
		}
		return nil
	})
	s.awaitReady("cache", 1)
}

// Pods that carry our labels but were not made by the cache's Deployment are none of its nodes.
func TestStrayPodsAreNoNodes(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	nodes := s.awaitReady("cache", 1).Status.Nodes
	node := testenv.MustGet[corev1.Pod](s.Env, nodes[0])
	labels := maps.Clone(node.Labels)
	delete(labels, appsv1.DefaultDeploymentUniqueLabelKey) // With it, the ReplicaSet would adopt the pod.
	stray := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stray", Namespace: s.Namespace, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "stray", Image: "stray"}}},
	}
	s.Create(stray)
	s.Edit(s.memcached("cache"), `{"spec":{"size":2}}`)
	s.awaitReady("cache", 2)
}

func TestNothingIsMadeInANamespaceThatIsBeingDeleted(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.ForbidDeletion("memcacheds", s.memcached("cache")) // The cache is the last to go.
	s.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}})
	if message := s.awaitReason(v1alpha1.ReasonWaitingForDeletion); !strings.Contains(message, "namespace "+s.Namespace) {
		t.Errorf("the message is %q", message)
	}
}

func TestCachesOfOneNameInTwoNamespacesAreApart(t *testing.T) {
	t.Run("group", func(t *testing.T) {
		for _, size := range []int32{1, 2} {
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				s := newSuite(t)
				s.create("cache", size)
				s.awaitReady("cache", int(size))
				deployments := &appsv1.DeploymentList{}
				if err := cluster.Client.List(t.Context(), deployments, client.InNamespace(s.Namespace)); err != nil {
					t.Fatal(err)
				}
				if len(deployments.Items) != 1 || *deployments.Items[0].Spec.Replicas != size {
					t.Errorf("%d Deployments", len(deployments.Items))
				}
			})
		}
	})
}
