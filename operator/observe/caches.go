package observe

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/meta"
)

// Caches limits what is held in memory to objects of ours, whatever else the cluster runs; users' own objects of our kinds
// are all held. managedFields are left out: they are as large as the objects themselves, and only ever needed of an object
// that was read live.
func Caches() cache.Options {
	return cache.Options{
		DefaultTransform:     cache.TransformStripManagedFields(),
		DefaultLabelSelector: meta.ManagedSelector(),
		ByObject: map[client.Object]cache.ByObject{
			&appv1alpha1.Application{}: {Label: labels.Everything()},
			&v1alpha1.Memcached{}:      {Label: labels.Everything()},
		},
	}
}
