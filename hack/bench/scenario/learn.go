package scenario

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/workload"
)

// The numbers of the namespace and the custom resource that the bare client learns from.
const (
	templateNamespace = 9999
	templateNumber    = 999999
)

// learn returns what a bare client has to write for a kind, which the operator shows: for a new custom resource, and for one more pod.
func (b *Bench) learn(ctx context.Context, kind workload.Kind) (_ *workload.Templates, err error) {
	if known := b.templates[kind.Name]; known != nil {
		return known, nil
	}
	operator, err := b.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	namespace := workload.Namespace(templateNamespace)
	templates, err := b.show(ctx, kind, namespace)
	operator.Stop()
	if err != nil {
		return nil, fmt.Errorf("learn from the operator what to write: %w", err)
	}
	b.templates[kind.Name] = templates
	return templates, b.empty(ctx, namespace)
}

// show lets the operator that runs show what to write.
func (b *Bench) show(ctx context.Context, kind workload.Kind, namespace string) (*workload.Templates, error) {
	if err := b.makeNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	resources, err := b.resources(ctx, kind, namespace, templateNumber, 1)
	if err != nil {
		return nil, err
	}
	if err := b.ready(ctx, resources); err != nil {
		return nil, err
	}
	resource := resources[0]
	templates, err := workload.NewTemplates(b.Server.Scheme, kind, resource)
	if err != nil {
		return nil, err
	}
	var before []client.Object
	for generation := range int64(2) {
		if generation > 0 {
			if err := b.Server.Client.Patch(ctx, resource, kind.Scale(1)); err != nil {
				return nil, err
			}
		}
		if err := b.tracker.await(ctx, keysOf(resources), generation+1); err != nil {
			return nil, err
		}
		if err := b.Server.Client.Get(ctx, client.ObjectKeyFromObject(resource), resource); err != nil {
			return nil, err
		}
		now, err := workload.Read(ctx, b.Server.Client, resource)
		if err != nil {
			return nil, err
		}
		if err := templates.Learn(b.Server.Client, resource, before, now, kind.Size+int32(generation)); err != nil {
			return nil, err
		}
		before = now
	}
	return templates, nil
}
