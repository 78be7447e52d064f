package controller

import (
	"context"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/report"
)

// clientWith returns a client that has these Applications, and the indexes of the operator's cache.
func clientWith(t *testing.T, applications ...*v1alpha1.Application) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Application{})
	if err := IndexApplications(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	for _, application := range applications {
		builder.WithObjects(application)
	}
	return builder.Build()
}

type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	i.builder.WithIndex(object, field, extract)
	return nil
}

// A claim that the cache has not seen yet counts.
func TestAHostIsNotClaimedFromAnOutdatedCache(t *testing.T) {
	asks := func(namespace string, age time.Duration) *testkit.Application {
		return testkit.MakeApplication("web").Namespace(namespace).Ingress("a.example.com", "/", "").
			Change(func(a *v1alpha1.Application) { a.CreationTimestamp.Time = testkit.Now.Add(-age) })
	}
	for name, test := range map[string]struct {
		live   []*v1alpha1.Application
		claims bool
	}{
		"the younger one has claimed nothing": {live: []*v1alpha1.Application{asks("younger", time.Minute).Obj()}, claims: true},
		"the younger one has claimed it":      {live: []*v1alpha1.Application{asks("younger", time.Minute).Claims(testkit.Now).Obj()}},
		"the younger one is gone":             {claims: true},
	} {
		t.Run(name, func(t *testing.T) {
			cached := clientWith(t, asks("older", time.Hour).Obj(), asks("younger", time.Minute).Obj())
			reconciler := &Reconciler{Client: cached, Live: clientWith(t, test.live...), Clock: clocktesting.NewFakePassiveClock(testkit.Now.Time)}
			reconciler.Reporter = &report.Reporter{Client: interceptor.NewClient(cached, interceptor.Funcs{SubResourcePatch: func(
				ctx context.Context, c client.Client, resource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
			) error {
				if reconciler.claiming.TryLock() {
					t.Error("another Application could claim the host while this claim is written")
				}
				return c.SubResource(resource).Patch(ctx, object, patch, options...)
			}})}
			in := desired.Inputs{Application: &v1alpha1.Application{}}
			if err := cached.Get(t.Context(), client.ObjectKey{Namespace: "older", Name: "web"}, in.Application); err != nil {
				t.Fatal(err)
			}
			if err := reconciler.hosts().add(t.Context(), &in); err != nil || desired.Holder(in) != nil {
				t.Fatalf("in the cache, nobody else has the host: %v", err)
			}
			in, err := reconciler.claimHost(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			now := &v1alpha1.Application{}
			if err := cached.Get(t.Context(), client.ObjectKeyFromObject(in.Application), now); err != nil {
				t.Fatal(err)
			}
			if desired.HasHost(in) != test.claims || desired.HasClaim(now) != test.claims || now.ResourceVersion != in.Application.ResourceVersion {
				t.Errorf("the claim is %+v, and its record %+v", in.Application.Status.IngressClaim, now.Status.IngressClaim)
			}
		})
	}
}
