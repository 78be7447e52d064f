package manager

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/slim"
)

// caches limits what is held in memory to the objects that the operator made, whatever else the cluster runs; Memcacheds and
// Applications are all held, within limits. The options are for slim.NewCache, which leaves out managedFields: they are as large as the
// objects themselves, and needed only of objects that were read live. namespaces are those that are watched; all if there are none.
func caches(namespaces []string) cache.Options {
	options := cache.Options{
		DefaultLabelSelector: owned.ManagedSelector(),
		ByObject: map[client.Object]cache.ByObject{
			&appv1alpha1.Application{}: {Label: labels.Everything(), Transform: slim.Application},
			&v1alpha1.Memcached{}:      {Label: labels.Everything(), Transform: slim.Memcached},
		},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}
