package controller

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/watch"
)

func TestNewsOfACacheAreUrgentWhenItsAddressChanges(t *testing.T) {
	unbound := testkit.MakeMemcached("cache").Obj()
	bound := testkit.MakeMemcached("cache").Status(cachev1alpha1.MemcachedStatus{
		Binding: &cachev1alpha1.MemcachedBinding{Name: "cache-binding"},
	}).Obj()
	ready := bound.DeepCopy()
	ready.Status.ReadyReplicas = 3
	for name, test := range map[string]struct {
		before, now client.Object
		want        time.Duration
	}{
		"a new cache will say more soon":    {now: unbound, want: watch.StatusDelay},
		"a cache has published its address": {before: unbound, now: bound},
		"a cache has taken it back":         {before: bound, now: unbound},
		"a cache is gone":                   {before: bound},
		"a node is ready":                   {before: bound, now: ready, want: watch.StatusDelay},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cacheChange(t.Context(), test.before, test.now); got != test.want {
				t.Errorf("looked at after %s, want %s", got, test.want)
			}
		})
	}
}
