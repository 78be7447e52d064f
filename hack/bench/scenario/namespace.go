package scenario

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/workload"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// creators is how many clients create custom resources at the same time.
const creators = 8

// newNamespace makes a namespace for a round.
func (b *Bench) newNamespace(ctx context.Context) (string, error) {
	b.namespace++
	name := workload.Namespace(b.namespace)
	return name, b.makeNamespace(ctx, name)
}

func (b *Bench) makeNamespace(ctx context.Context, name string) error {
	return client.IgnoreAlreadyExists(b.Server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// empty deletes all objects in a namespace. Nobody may make new ones but the harness.
func (b *Bench) empty(ctx context.Context, namespace string) error {
	for _, kind := range []client.Object{
		&v1alpha1.Memcached{}, &appv1alpha1.Application{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, nil, &corev1.Pod{}, &corev1.Service{},
		&corev1.Secret{}, &appsv1.ControllerRevision{}, &networkingv1.NetworkPolicy{}, &networkingv1.Ingress{}, &policyv1.PodDisruptionBudget{},
		&corev1.Event{},
	} {
		if kind == nil {
			// As long as the harness sees a workload, it makes its pods again.
			if err := b.awaitNone(ctx, namespace, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}); err != nil {
				return err
			}
			continue
		}
		if err := b.Server.Client.DeleteAllOf(ctx, kind, client.InNamespace(namespace), client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("empty namespace %s: %w", namespace, err)
		}
	}
	return b.awaitNone(ctx, namespace, &corev1.PodList{}, &v1alpha1.MemcachedList{}, &appv1alpha1.ApplicationList{})
}

// awaitNone waits until the harness sees no object of the given kinds in a namespace.
func (b *Bench) awaitNone(ctx context.Context, namespace string, lists ...client.ObjectList) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, list := range lists {
			if err := b.cache.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
				return false, err
			}
			if meta.LenList(list) > 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// resources returns custom resources of a kind, numbered from first on, and makes the Secrets that they name.
func (b *Bench) resources(ctx context.Context, kind workload.Kind, namespace string, first, count int) ([]workload.Resource, error) {
	var all []workload.Resource
	for i := range count {
		all = append(all, kind.New(namespace, workload.Name(first+i), kind.Size))
	}
	if !kind.Secrets {
		return all, nil
	}
	if err := client.IgnoreAlreadyExists(b.Server.Client.Create(ctx, workload.Users(namespace))); err != nil {
		return nil, err
	}
	return all, each(ctx, all, func(ctx context.Context, resource workload.Resource) error {
		secret, err := b.authority.Certificate(namespace, resource.GetName())
		if err != nil {
			return err
		}
		return b.Server.Client.Create(ctx, secret)
	})
}

// timed calls a function for all custom resources, and returns when each call began.
func timed(ctx context.Context, resources []workload.Resource, do func(context.Context, workload.Resource) error) ([]time.Time, error) {
	began, index := make([]time.Time, len(resources)), map[workload.Resource]int{}
	for i, resource := range resources {
		index[resource] = i
	}
	return began, each(ctx, resources, func(ctx context.Context, resource workload.Resource) error {
		began[index[resource]] = time.Now()
		return do(ctx, resource)
	})
}

// each calls a function for all items, some at the same time.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, item := range items {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, item)
		})
	}
	return group.Wait()
}

func keysOf(resources []workload.Resource) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, resource := range resources {
		keys = append(keys, client.ObjectKeyFromObject(resource))
	}
	return keys
}
