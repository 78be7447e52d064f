package apply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// Action is the kind of a change.
type Action string

const (
	// Created means that the object did not exist.
	Created Action = "Created"

	// Updated means that the wanted configuration has changed.
	Updated Action = "Updated"

	// Repaired means that another client had changed the object.
	Repaired Action = "Repaired"

	// Deleted means that the object is no longer wanted.
	Deleted Action = "Deleted"
)

// Change is one successful write.
type Change struct {
	Action Action
	Object owned.Reference

	// Fields are the sorted paths that differed from the wanted configuration. Empty for Created and Deleted.
	Fields []string
}

// Result is the outcome of Apply.
type Result struct {
	// Changes are the successful writes, in order. Empty if all objects were as wanted.
	Changes []Change

	// Objects are the written objects as returned by the API server. They are newer than cached objects.
	Objects []*unstructured.Unstructured

	// Confirmed are the objects that are as the plan says.
	Confirmed sets.Set[owned.Reference]

	// Held are the writes that wait for approval, because the API server would change more than they ask for.
	Held []owned.Held

	// Recheck is when to apply the plan again although nothing that is watched has changed; 0 for never.
	Recheck time.Duration
}

// Applier writes owned objects.
type Applier struct {
	cached    client.Reader // Contains only objects with the operator's managed-by label.
	live      client.Reader
	writer    Writer
	scheme    *runtime.Scheme
	converter managedfields.TypeConverter // For kinds in the scheme.
	deduced   managedfields.TypeConverter // For other kinds: lists are atomic.
	rewritten sync.Map                    // The rewrites of objects that others change whenever they are written.
	recheck   time.Duration
	applied   *expiring.Expiring // The hash of the configuration that an unwatched object was seen to match.
}

// Writer writes objects and subresources.
type Writer interface {
	client.Writer
	client.SubResourceClientConstructor
}

// New returns an Applier that compares with objects from cached, and reads through live before it writes. What is unwatched is read
// through live once in recheck.
func New(cached, live client.Reader, writer Writer, scheme *runtime.Scheme, recheck time.Duration) *Applier {
	return &Applier{
		cached: cached, live: live, writer: writer, scheme: scheme,
		converter: applyconfigurations.NewTypeConverter(scheme), deduced: managedfields.NewDeducedTypeConverter(),
		recheck: recheck, applied: expiring.NewExpiring(),
	}
}

// Apply makes the cluster match the plan. An object that fails stops those that need it, and the others only if nothing more
// can be done: the plan is outdated, or the API server does not answer. The error is that of all objects. Known errors are marked with package
// reconcileerror: Terminal if another owner has an object of that name, Waiting if an object of an earlier owner is still being
// deleted or the API server rejects an object, Stale if the owner or the object has changed since it was read.
func (a *Applier) Apply(ctx context.Context, owner client.Object, plan owned.Plan) (Result, error) {
	result := Result{Confirmed: sets.New[owned.Reference]()}
	var errs []error
	for _, configuration := range plan.Present {
		reference := owned.ReferenceTo(configuration)
		if slices.ContainsFunc(plan.Needs, func(n owned.Need) bool { return n.Object == reference && !result.Confirmed.Has(n.Needs) }) {
			continue
		}
		err := a.present(ctx, owner, plan, configuration, &result)
		held := slices.ContainsFunc(result.Held, func(h owned.Held) bool { return h.Object == reference })
		if err == nil && !held {
			result.Confirmed.Insert(reference)
		}
		errs = append(errs, err)
		if hopeless(ctx, err) {
			return result, reconcileerror.Join(errs...)
		}
	}
	for _, reference := range plan.Absent {
		err := a.absent(ctx, owner, reference, &result)
		errs = append(errs, err)
		if hopeless(ctx, err) {
			break
		}
	}
	return result, reconcileerror.Join(errs...)
}

// hopeless reports whether an error means that other objects cannot be applied either.
func hopeless(ctx context.Context, err error) bool {
	var network *url.Error
	return ctx.Err() != nil || reconcileerror.IsStale(err) || errors.As(err, &network)
}

// present makes one object match the configuration.
func (a *Applier) present(
	ctx context.Context, owner client.Object, plan owned.Plan, configuration owned.Configuration, result *Result,
) error {
	reference := owned.ReferenceTo(configuration)
	recorded := recordedIn(plan, reference)
	wanted, err := encode(configuration, recorded != nil)
	if err != nil {
		return err
	}
	if Unwatched(reference) {
		result.Recheck = a.recheck
		if a.knowsApplied(reference, wanted) {
			return nil
		}
	}
	found, change, err := a.compared(ctx, owner, reference, recorded, wanted)
	if err == nil && change != nil {
		err = a.change(ctx, owner, plan, configuration, wanted, found, *change, result)
	}
	if err == nil {
		a.noteApplied(reference, wanted)
	}
	return err
}

// compared returns the object that is there, nil if there is none, and the change that makes it match the configuration, nil if nothing
// is to be written.
func (a *Applier) compared(
	ctx context.Context, owner client.Object, reference owned.Reference, recorded *owned.Recorded, wanted *unstructured.Unstructured,
) (client.Object, *Change, error) {
	found, err := a.find(ctx, owner, reference, wanted)
	if a.kindIsGone(reference, err) {
		return nil, nil, nil
	}
	if err != nil || found == nil {
		return nil, &Change{Action: Created, Object: reference}, err
	}
	change, err := a.changeOf(reference, recorded, wanted, found)
	return found, change, err
}

// change writes a configuration over found, if that may be done.
func (a *Applier) change(
	ctx context.Context, owner client.Object, plan owned.Plan, configuration owned.Configuration,
	wanted *unstructured.Unstructured, found client.Object, wish Change, result *Result,
) error {
	reference := wish.Object
	if err := checkRendering(plan, configuration, wanted, found); err != nil {
		return err
	}
	found, change, err := a.prepare(ctx, owner, recordedIn(plan, reference), wanted, found, &wish, result)
	if err != nil || change == nil {
		return err
	}
	if err := nameRendering(plan, wanted, found, change); err != nil {
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

// changeOf returns the change to write over found, nil if there is nothing to write.
func (a *Applier) changeOf(
	reference owned.Reference, recorded *owned.Recorded, wanted *unstructured.Unstructured, found client.Object,
) (*Change, error) {
	if recorded != nil && recordOf(wanted) == "" && recorded.Record != "" && recordOf(found) == recorded.Record {
		nameRecord(wanted, recorded.Record) // It was named in an earlier write, and stays so.
	}
	change, err := a.difference(reference, wanted, found)
	if err != nil || change == nil || a.knowsRewrite(wanted, found) {
		return nil, err
	}
	if recorded != nil {
		change = worthWriting(change, *recorded, wanted, found)
	}
	return change, nil
}

// prepare makes sure that a change may be written. It returns the object to write over and the change that is left, nil if nothing is
// left or the write has to wait.
func (a *Applier) prepare(
	ctx context.Context, owner client.Object, recorded *owned.Recorded,
	wanted *unstructured.Unstructured, found client.Object, change *Change, result *Result,
) (client.Object, *Change, error) {
	if change.Action == Repaired && recorded == nil {
		if rewritten, err := a.isRewritten(ctx, wanted, found); err != nil || rewritten {
			return found, nil, explain(change.Object, err)
		}
	}
	if err := a.confirm(ctx, owner); err != nil {
		return found, nil, err
	}
	if found == nil || recorded == nil {
		return found, change, nil
	}
	return a.prepareWorkload(ctx, *recorded, wanted, found, change, result)
}

// write sends the apply; wanted then contains the object that the API server returned. found is the object that the
// decision is based on, nil if there was none.
func (a *Applier) write(ctx context.Context, wanted *unstructured.Unstructured, found client.Object, options ...client.ApplyOption) error {
	options = append(options, client.FieldOwner(owned.Manager))
	if found != nil {
		// The object belongs to the owner, so conflicts are forced. The uid prevents that the apply creates a new
		// object, and the resourceVersion that it overwrites a version that was not compared.
		options = append(options, client.ForceOwnership)
		wanted.SetUID(found.GetUID())
		wanted.SetResourceVersion(found.GetResourceVersion())
	}
	// Without force, the apply conflicts with an object that another client has created since the read.
	return a.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), options...)
}

// confirm checks that the owner has not changed since the caller read it.
func (a *Applier) confirm(ctx context.Context, owner client.Object) error {
	gvk, err := apiutil.GVKForObject(owner, a.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of the owner: %w", err)
	}
	return Confirm(ctx, a.live, owner, gvk)
}

// Confirm checks that the spec of an object of the given kind has not changed since the caller read it. If it has, the error is
// Stale.
func Confirm(ctx context.Context, live client.Reader, object client.Object, gvk schema.GroupVersionKind) error {
	name := gvk.Kind + " " + client.ObjectKeyFromObject(object).String()
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(gvk)
	err := live.Get(ctx, client.ObjectKeyFromObject(object), now)
	switch {
	case apierrors.IsNotFound(err):
		return reconcileerror.Stale(fmt.Errorf("%s was deleted during the reconcile", name))
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case now.UID != object.GetUID() || now.Generation != object.GetGeneration() || !now.DeletionTimestamp.IsZero():
		return reconcileerror.Stale(fmt.Errorf("%s changed during the reconcile", name))
	}
	return nil
}

// Empty returns an empty object of a kind. Kinds outside the scheme have no Go type and are not cached.
func Empty(scheme *runtime.Scheme, kind schema.GroupVersionKind) client.Object {
	known, err := scheme.New(kind)
	if object, ok := known.(client.Object); ok && err == nil {
		return object
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// kindIsGone tells whether an error means that the CRD of a kind was removed. Objects of that kind went with it, and
// there is nothing to apply.
func (a *Applier) kindIsGone(reference owned.Reference, err error) bool {
	return !a.scheme.Recognizes(reference.GroupVersionKind) && (apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err))
}
