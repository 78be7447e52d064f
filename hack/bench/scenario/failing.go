package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/workload"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// failingNumber is the number of the first custom resource that fails.
const failingNumber = 800000

// Failing measures how long healthy caches take to become ready, without and with caches beside them that fail all the time. Half of these
// fail because a Service of somebody else has their name, the others because a Secret does not exist.
func (b *Bench) Failing(ctx context.Context, plan Plan, failing int) (figures.Result, error) {
	result := figures.Result{Workload: "failing resources", Kind: plan.Kind.Name, Size: plan.Size}
	type pair struct{ without, with Round }
	var pairs []pair
	for round := range plan.Rounds {
		var both pair
		var err error
		if both.without, err = b.besideFailing(ctx, plan, 0); err != nil {
			return result, fmt.Errorf("healthy caches alone: %w", err)
		}
		if both.with, err = b.besideFailing(ctx, plan, failing); err != nil {
			return result, fmt.Errorf("healthy caches beside failing ones: %w", err)
		}
		pairs = append(pairs, both)
		b.say("%d healthy beside %d failing, round %d of %d: p50 %.2f s without, %.2f s with", plan.Size, failing, round+1, plan.Rounds,
			both.without.latency(0.5), both.with.latency(0.5))
	}
	result.Figures = []figures.Figure{
		of("p50 alone", "s", "", pairs, func(p pair) float64 { return p.without.latency(0.5) }),
		of("p50 beside failing ones", "s", figures.Lower, pairs, func(p pair) float64 { return p.with.latency(0.5) }),
		of(BesideFailing, "", figures.Lower, pairs, func(p pair) float64 { return p.with.latency(0.5) / p.without.latency(0.5) }),
		of("p99 beside failing ones against alone", "", figures.Lower, pairs, func(p pair) float64 { return p.with.latency(0.99) / p.without.latency(0.99) }),
		of("number of failing ones", "", "", pairs, func(pair) float64 { return float64(failing) }),
	}
	return result, nil
}

// besideFailing measures a burst of healthy caches in a namespace with so many that fail.
func (b *Bench) besideFailing(ctx context.Context, plan Plan, failing int) (Round, error) {
	operator, err := b.startOperator(ctx)
	if err != nil {
		return Round{}, err
	}
	return b.fresh(ctx, operator, plan, func(resources []workload.Resource) (Round, error) {
		if err := b.fail(ctx, resources[0].GetNamespace(), failing); err != nil {
			return Round{}, err
		}
		return b.act(ctx, operator, resources, b.creation(false))
	})
}

// fail makes caches that fail, and waits until each has said why.
func (b *Bench) fail(ctx context.Context, namespace string, count int) error {
	numbers, keys := make([]int, count), make([]types.NamespacedName, count)
	for i := range numbers {
		numbers[i], keys[i] = i, types.NamespacedName{Namespace: namespace, Name: workload.Name(failingNumber + i)}
	}
	err := each(ctx, numbers, func(ctx context.Context, i int) error {
		cache := &v1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: keys[i].Name}, Spec: v1alpha1.MemcachedSpec{Size: 1}}
		if i%2 == 0 {
			cache.Spec.TLS = &v1alpha1.MemcachedTLS{SecretName: "missing"}
			return b.Server.Client.Create(ctx, cache)
		}
		foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: keys[i].Name + "-nodes"}}
		foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		if err := b.Server.Client.Create(ctx, foreign); err != nil {
			return err
		}
		return b.Server.Client.Create(ctx, cache)
	})
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		for _, key := range keys {
			if b.tracker.reason(key) == "" {
				return false, nil
			}
		}
		return true, nil
	})
}
