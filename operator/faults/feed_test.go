//go:build faults

package faults_test

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/faults/oracle"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// observed are the resources whose objects are compared.
var observed = []schema.GroupVersionResource{
	v1alpha1.GroupVersion.WithResource("memcacheds"), appv1alpha1.GroupVersion.WithResource("applications"),
	{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "secrets"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"}, {Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}, {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
}

// feed writes the histories of namespaces.
type feed struct{ histories sync.Map }

// startFeed follows all observed resources in all namespaces until the end of the test: the API server does not stop while somebody watches.
// One watch for all plans costs less than one for each.
func startFeed(t *testing.T) *feed {
	t.Helper()
	f := &feed{}
	c, err := dynamic.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c, 0)
	for _, resource := range observed {
		_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { f.handle(object, resource.Resource, (*oracle.History).Set) },
			UpdateFunc: func(before, object any) {
				if a, b := before.(*unstructured.Unstructured), object.(*unstructured.Unstructured); a.GetUID() != b.GetUID() {
					f.handle(before, resource.Resource, (*oracle.History).Delete)
				}
				f.handle(object, resource.Resource, (*oracle.History).Set)
			},
			DeleteFunc: func(object any) { f.handle(object, resource.Resource, (*oracle.History).Delete) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	for resource, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%s cannot be watched", resource)
		}
	}
	return f
}

func (f *feed) handle(object any, resource string, record func(*oracle.History, string, *unstructured.Unstructured)) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	found, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if history, ok := f.histories.Load(found.GetNamespace()); ok {
		record(history.(*oracle.History), resource, found)
	}
}

// follow returns the history of a new namespace. forget ends it.
func (f *feed) follow(namespace string) (history *oracle.History, forget func()) {
	history = oracle.NewHistory()
	f.histories.Store(namespace, history)
	return history, func() { f.histories.Delete(namespace) }
}
