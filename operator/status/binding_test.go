package status_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	desired "github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/scope"
	"github.com/example/memcached-operator/operator/status"
	operatortesting "github.com/example/memcached-operator/operator/testing"
)

func TestTheBindingIsPublishedWhileItsSecretIsThere(t *testing.T) {
	secret := func(name string) scope.Reference {
		return scope.Reference{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Namespace: "default", Name: name}
	}
	published := v1alpha1.MemcachedStatus{Binding: &v1alpha1.MemcachedBinding{Name: "cache-binding"}}
	for name, test := range map[string]struct {
		before  v1alpha1.MemcachedStatus
		present []scope.Reference
		want    *v1alpha1.MemcachedBinding
	}{
		"the Secret is there":   {present: []scope.Reference{secret("cache-binding")}, want: published.Binding},
		"it is still there":     {before: published, present: []scope.Reference{secret("cache-binding")}, want: published.Binding},
		"it is not there yet":   {},
		"it is gone":            {before: published},
		"another Secret exists": {present: []scope.Reference{secret("cache")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.Memcached(of(operatortesting.MakeMemcached("cache").Status(test.before).Obj()), desired.Plan{}, status.Nodes{}, status.Pass{
				Observed: scope.Observed{Present: test.present}, Err: errors.New("failed"), Now: operatortesting.Now,
			})
			if difference := cmp.Diff(test.want, got.Binding); difference != "" {
				t.Errorf("status.binding (-want +got):\n%s", difference)
			}
		})
	}
}
