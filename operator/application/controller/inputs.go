package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/kube/slim"
)

// cacheField is the field index of Applications by the names of their caches.
const cacheField = "spec.caches.name"

// IndexApplications adds the field indexes that this package uses.
func IndexApplications(ctx context.Context, indexer client.FieldIndexer) error {
	for field, values := range map[string]func(*v1alpha1.Application) []string{
		hostField: hostKeys,
		cacheField: func(a *v1alpha1.Application) []string {
			var names []string
			for _, cache := range a.Spec.Caches {
				names = append(names, cache.Name)
			}
			return names
		},
	} {
		extract := func(object client.Object) []string {
			if application, ok := object.(*v1alpha1.Application); ok {
				return values(application)
			}
			return nil
		}
		if err := indexer.IndexField(ctx, &v1alpha1.Application{}, field, extract); err != nil {
			return fmt.Errorf("index Applications by %s: %w", field, err)
		}
	}
	return nil
}

// ApplicationInputs reads what the desired state of an Application is computed from, but for what concerns its host.
func ApplicationInputs(
	ctx context.Context, reader client.Reader, application *v1alpha1.Application,
) (desired.Inputs, error) {
	in := desired.Inputs{Application: application}
	if err := slim.Check(application, "it, for example by moving values of spec.env into a ConfigMap"); err != nil {
		return in, err
	}
	for _, named := range application.Spec.Caches {
		cache := cachev1alpha1.Memcached{}
		err := reader.Get(ctx, types.NamespacedName{Namespace: application.Namespace, Name: named.Name}, &cache)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return in, fmt.Errorf("read Memcached %s/%s: %w", application.Namespace, named.Name, err)
		case err == nil:
			in.Caches = append(in.Caches, cache)
		}
	}
	return in, nil
}

// UsersOf returns the Applications that list a cache.
func UsersOf(ctx context.Context, reader client.Reader, cache client.Object) ([]v1alpha1.Application, error) {
	found := &v1alpha1.ApplicationList{}
	err := reader.List(ctx, found, client.InNamespace(cache.GetNamespace()), client.MatchingFields{cacheField: cache.GetName()})
	if err != nil {
		return nil, fmt.Errorf("list the Applications that use %s/%s: %w", cache.GetNamespace(), cache.GetName(), err)
	}
	return found.Items, nil
}
