package inputs

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/slim"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// Reader reads what the desired state of a cache is computed from.
type Reader struct {
	// Cached reads from the operator's caches, which hold only our own objects.
	Cached client.Reader

	// Live reads from the API server what the caches do not hold.
	Live client.Reader

	// Images are the images that pods can run.
	Images Images

	// ServiceAnnotations are what the administrator allows in spec.service.annotations.
	ServiceAnnotations AllowedAnnotations

	// Features tells what the cluster can do.
	Features func() (Features, error)
}

// Read returns what the desired state of a cache is computed from, at the time now. In the steady state of a cache that
// names no Secret it reads only the caches. Secrets of users are read each time: a watch would keep all Secrets of the cluster
// in memory.
func (m *Reader) Read(ctx context.Context, memcached *v1alpha1.Memcached, now metav1.Time) (Inputs, error) {
	in := Inputs{Memcached: memcached, Images: m.Images, ServiceAnnotations: m.ServiceAnnotations, Now: now.Time}
	err := slim.Check(memcached, "spec.affinity, spec.tolerations, spec.networkPolicy or spec.extraArgs")
	if err != nil {
		return in, err
	}
	if in.Features, err = m.Features(); err != nil {
		return in, err
	}
	if in.Records, err = records(ctx, m.Cached, memcached); err != nil {
		return in, err
	}
	if err := m.readWorkloads(ctx, &in); err != nil {
		return in, err
	}
	if tls := memcached.Spec.TLS; tls != nil {
		if in.Certificate, err = m.secret(ctx, memcached.Namespace, tls.SecretName); err != nil {
			return in, err
		}
	}
	if auth := memcached.Spec.Auth; auth != nil {
		in.Users, err = m.secret(ctx, memcached.Namespace, auth.SecretName)
	}
	return in, err
}

// find reads the object of a cache's name, and tells whether it is the cache's, or was and has lost its owner, which only the
// API server knows. A wanted one that the caches do not know is looked for live, unless the cache is new: to take an existing one for
// missing would mean to decide without what it was given.
func (m *Reader) find(ctx context.Context, owner *v1alpha1.Memcached, object client.Object, wanted bool) (bool, error) {
	key := client.ObjectKeyFromObject(owner)
	err := m.Cached.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && wanted && !owned.IsNew(owner) {
		err = m.Live.Get(ctx, key, object)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the workload of %s: %w", key, err)
	}
	if controller := metav1.GetControllerOf(object); controller != nil {
		return controller.UID == owner.GetUID(), nil
	}
	if err := m.Live.Get(ctx, key, object); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return owned.Applied(object, ApplicationName), nil
}

// secret returns the Secret of a name, nil if there is none.
func (m *Reader) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	err := m.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // No Secret is an answer, and documented.
	case err != nil:
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	return found, nil
}

// CreateFailure returns why missing pods of a cache's StatefulSet cannot be created; empty if none is missing or no event says why.
// Unlike that of a Deployment, its status does not say it: only events do. They are read live, and only while pods are
// missing: a watch would keep all events of the cluster in memory. They say nothing yet while the StatefulSet controller has not seen a new
// spec of the cache.
func (m *Reader) CreateFailure(ctx context.Context, owner *v1alpha1.Memcached, set *appsv1.StatefulSet, now time.Time) (string, error) {
	account := workload.OfStatefulSet(set)
	if account == nil || account.Replicas >= account.Wanted || !account.Observed && owner.Status.ObservedGeneration < owner.Generation {
		return "", nil
	}
	found := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.uid": string(set.UID)}
	if err := m.Live.List(ctx, found, client.InNamespace(set.Namespace), about); err != nil {
		return "", fmt.Errorf("list the events about StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return workload.CreateFailure(found.Items, now), nil
}
