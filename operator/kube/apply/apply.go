package apply

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// Clock tells how long ago something was applied. New sets that of the machine.
	Clock clock.PassiveClock

	cached    client.Reader // Contains only objects with the operator's managed-by label.
	live      client.Reader
	writer    Writer
	scheme    *runtime.Scheme
	converter managedfields.TypeConverter // For kinds in the scheme.
	deduced   managedfields.TypeConverter // For other kinds: lists are atomic.
	rewritten sync.Map                    // The rewrites of objects that others change whenever they are written.
	confirmed *lru.Cache                  // The UIDs of owners that were read live.
	matches   *matches
	recheck   time.Duration
	applied   *expiring.Expiring // The configurations that unwatched objects were seen to match, as appliedAt.
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
		confirmed: lru.New(maxConfirmed), matches: newMatches(), recheck: recheck, applied: expiring.NewExpiring(), Clock: clock.RealClock{},
	}
}

// Apply makes the cluster match the plan. An object that fails stops those that need it, and the others only if nothing more
// can be done: the plan is outdated, or the API server does not answer. The error is that of all objects. Known errors are marked with package
// reconcileerror: Terminal if another owner has an object of that name, Waiting if an object of an earlier owner is still being
// deleted or the API server rejects an object, Stale if the owner or the object has changed since it was read.
func (a *Applier) Apply(ctx context.Context, owner client.Object, plan owned.Plan) (Result, error) {
	result := Result{Confirmed: sets.New[owned.Reference]()}
	plan.New = plan.New && !a.isConfirmed(owner) // What was made once, and is missing, may have been deleted with its owner.
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
		if plan.New && !a.watched(reference) {
			continue // To look for it would be a read.
		}
		err := a.absent(ctx, owner, plan, reference, &result)
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
