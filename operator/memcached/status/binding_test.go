package status_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/status"
)

func TestTheBindingIsPublishedWhileItsSecretExists(t *testing.T) {
	secret := func(name string) owned.Reference {
		return owned.Reference{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Namespace: "default", Name: name}
	}
	published := v1alpha1.MemcachedStatus{Binding: &v1alpha1.MemcachedBinding{Name: "cache-binding"}}
	for name, test := range map[string]struct {
		before  v1alpha1.MemcachedStatus
		present []owned.Reference
		want    *v1alpha1.MemcachedBinding
	}{
		"the Secret exists":     {present: []owned.Reference{secret("cache-binding")}, want: published.Binding},
		"it still exists":       {before: published, present: []owned.Reference{secret("cache-binding")}, want: published.Binding},
		"it does not exist yet": {},
		"it was deleted":        {before: published},
		"another Secret exists": {present: []owned.Reference{secret("cache")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.Memcached(of(testkit.MakeMemcached("cache").Status(test.before).Obj()), desired.Plan{}, status.Runtime{}, conditions.Reconcile{
				Observed: workload.Observed{Present: test.present}, Err: errors.New("failed"), Now: testkit.Now,
			})
			if difference := cmp.Diff(test.want, got.Binding); difference != "" {
				t.Errorf("status.binding (-want +got):\n%s", difference)
			}
		})
	}
}
