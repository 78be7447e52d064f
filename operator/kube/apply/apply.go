package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// Action is what was done to an object.
type Action string

const (
	// Created means: the object did not exist.
	Created Action = "Created"

	// Updated means: something else is wanted than before.
	Updated Action = "Updated"

	// Repaired means: somebody else had changed the object.
	Repaired Action = "Repaired"

	// Deleted means: the object is not wanted any more.
	Deleted Action = "Deleted"
)

// Change is one write.
type Change struct {
	Action Action
	Object owned.Reference

	// Fields are the paths that differed from what was wanted, sorted. Empty for Created and Deleted.
	Fields []string
}

// Result is what Apply did.
type Result struct {
	// Changes are the writes that succeeded, in order. Empty when everything was as wanted.
	Changes []Change

	// Objects are the written objects as the API server returned them. They are newer than those in any cache.
	Objects []*unstructured.Unstructured
}

// Applier writes owned objects.
type Applier struct {
	cached    client.Reader // Holds only objects with our managed-by label.
	live      client.Reader
	writer    client.Writer
	scheme    *runtime.Scheme
	converter managedfields.TypeConverter // Of the kinds of the scheme.
	deduced   managedfields.TypeConverter // Of others: their lists are taken as a whole.
}

// New returns an Applier that reads through cached while nothing needs to be written, and through live before it does.
func New(cached, live client.Reader, writer client.Writer, scheme *runtime.Scheme) *Applier {
	return &Applier{
		cached: cached, live: live, writer: writer, scheme: scheme,
		converter: applyconfigurations.NewTypeConverter(scheme), deduced: managedfields.NewDeducedTypeConverter(),
	}
}

// Apply makes the cluster agree with the plan. It stops at the first error; what was done until then is in the result.
// Errors are marked with outcome where their meaning is known: Terminal when a name is taken, Waiting when an object of
// an earlier owner is still being deleted or the API server rejects an object, Stale when the owner or the object has
// changed in the meantime.
func (a *Applier) Apply(ctx context.Context, owner client.Object, plan owned.Plan) (Result, error) {
	var result Result
	for _, configuration := range plan.Present {
		if err := a.present(ctx, owner, configuration, &result); err != nil {
			return result, err
		}
	}
	for _, reference := range plan.Absent {
		if err := a.absent(ctx, owner, reference, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}

// present makes one object what the configuration wants.
func (a *Applier) present(ctx context.Context, owner client.Object, configuration owned.Configuration, result *Result) error {
	wanted, err := encode(configuration)
	if err != nil {
		return err
	}
	reference := referenceTo(wanted)
	found, err := a.find(ctx, owner, reference)
	if a.kindIsGone(reference, err) {
		return nil
	}
	if err != nil {
		return err
	}
	change := &Change{Action: Created, Object: reference}
	if found != nil {
		if change, err = a.difference(wanted, found); err != nil || change == nil {
			return err
		}
	}
	if err := a.confirm(ctx, owner); err != nil {
		return err
	}
	if err := a.write(ctx, wanted, found); err != nil {
		if a.kindIsGone(reference, err) {
			return nil
		}
		if found == nil || !apierrors.IsInvalid(err) {
			return explain(reference, err)
		}
		if err := a.writeOverRivals(ctx, wanted, reference, err); err != nil {
			return err
		}
	}
	result.Changes = append(result.Changes, *change)
	result.Objects = append(result.Objects, wanted)
	return nil
}

// write sends the apply; wanted then holds what the API server returned. found is what the decision was based on.
func (a *Applier) write(ctx context.Context, wanted *unstructured.Unstructured, found client.Object) error {
	options := []client.ApplyOption{client.FieldOwner(owned.Manager)}
	if found != nil {
		// The object is ours, so our opinion wins. The uid keeps an apply from creating it anew, and the
		// resourceVersion from overwriting what we have not seen.
		options = append(options, client.ForceOwnership)
		wanted.SetUID(found.GetUID())
		wanted.SetResourceVersion(found.GetResourceVersion())
	}
	// Without force, an object that somebody created since we looked is not overwritten: the apply conflicts.
	return a.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...)
}

// confirm makes sure that the owner still is what the caller saw.
func (a *Applier) confirm(ctx context.Context, owner client.Object) error {
	gvk, err := apiutil.GVKForObject(owner, a.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of the owner: %w", err)
	}
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(gvk)
	if err := a.live.Get(ctx, client.ObjectKeyFromObject(owner), now); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return reconcileerror.Stale(fmt.Errorf("%s %s/%s was deleted meanwhile", gvk.Kind, owner.GetNamespace(), owner.GetName()))
		}
		return fmt.Errorf("read %s %s/%s: %w", gvk.Kind, owner.GetNamespace(), owner.GetName(), err)
	}
	if now.UID != owner.GetUID() || now.Generation != owner.GetGeneration() || !now.DeletionTimestamp.IsZero() {
		return reconcileerror.Stale(fmt.Errorf("%s %s/%s has changed meanwhile", gvk.Kind, owner.GetNamespace(), owner.GetName()))
	}
	return nil
}

// empty returns an empty object of the kind that reference names. Kinds that are not in the scheme have no Go type, and are
// not cached.
func (a *Applier) empty(reference owned.Reference) (client.Object, error) {
	if !a.scheme.Recognizes(reference.GroupVersionKind) {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(reference.GroupVersionKind)
		return object, nil
	}
	object, err := a.scheme.New(reference.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", reference.Kind, err)
	}
	typed, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("apply %s: %T is not an object", reference.Kind, object)
	}
	return typed, nil
}

// kindIsGone tells whether an error says that the cluster knows a kind no more, which is none of Kubernetes' own. What is
// of such a kind is of no use then, and went with it.
func (a *Applier) kindIsGone(reference owned.Reference, err error) bool {
	return !a.scheme.Recognizes(reference.GroupVersionKind) && (apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err))
}

func referenceTo(object *unstructured.Unstructured) owned.Reference {
	return owned.Reference{
		GroupVersionKind: object.GroupVersionKind(),
		Namespace:        object.GetNamespace(),
		Name:             object.GetName(),
	}
}
