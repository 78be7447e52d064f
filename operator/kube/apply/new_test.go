package apply_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// counting is a reader that counts reads.
type counting struct {
	client.Reader
	reads *int
}

func (c counting) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	*c.reads++
	return c.Reader.Get(ctx, key, into, options...)
}

// A size that becomes smaller ends pods, so the owner is read before.
func TestANewOwnerIsAppliedWithoutReads(t *testing.T) {
	owner, cached, reads := newOwner(t), &frozen{}, 0
	applier := apply.New(cached, counting{cluster.Client, &reads}, cluster.Client, cluster.Scheme, time.Minute)
	if changes := mustApply(t, applier, owner, plan(owner)); len(changes) != len(plan(owner).Present) || reads != 0 {
		t.Errorf("%d reads for %+v", reads, changes)
	}
	for _, step := range []struct {
		size  int32
		reads int
	}{{5, 0}, {2, 1}} {
		reads, cached.object = 0, deployment(t, owner)
		resize(t, owner, step.size)
		only := plan(owner)
		only.Present, only.Needs = []owned.Configuration{workloadIn(only)}, nil
		_, err := applier.Apply(t.Context(), owner, only)
		if replicas := *deployment(t, owner).Spec.Replicas; err != nil || replicas != step.size || reads != step.reads {
			t.Errorf("the size %d took %d reads, want %d, and gave %d pods: %v", step.size, reads, step.reads, replicas, err)
		}
	}
}

// An apply would merge with an object that has no field in conflict, and make it the owner's.
func TestANewOwnerTakesNothingOver(t *testing.T) {
	for _, kind := range []string{"Deployment", "Service", "Secret"} {
		t.Run(kind, func(t *testing.T) {
			owner := newOwner(t)
			for _, configuration := range plan(owner).Present {
				if *configuration.GetKind() != kind {
					continue
				}
				theirs := apply.Empty(cluster.Scheme, owned.ReferenceTo(configuration).GroupVersionKind)
				mustDecode(t, configuration, theirs)
				theirs.SetOwnerReferences(nil)
				theirs.SetLabels(nil)
				if err := cluster.Client.Create(t.Context(), theirs); err != nil {
					t.Fatal(err)
				}
				before := theirs.DeepCopyObject()
				_, err := apply.New(frozen{}, cluster.Client, cluster.Client, cluster.Scheme, time.Minute).Apply(t.Context(), owner, plan(owner))
				if class, reason := reconcileerror.Describe(err); class != reconcileerror.Terminated || reason != v1alpha1.ReasonNameConflict {
					t.Errorf("the error is %s %s: %v", class, reason, err)
				}
				if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || !cmp.Equal(before, theirs) {
					t.Errorf("the object has changed: %v\n%s", err, cmp.Diff(before, theirs))
				}
				return
			}
			t.Fatal("the plan has none")
		})
	}
}

// A new process whose cache does not show yet what an earlier one has made.
func TestACacheThatLagsMakesNothingTwice(t *testing.T) {
	owner := newOwner(t)
	mustApply(t, live(), owner, plan(owner))
	before := deployment(t, owner)
	lagging := apply.New(frozen{}, cluster.Client, cluster.Client, cluster.Scheme, time.Minute)
	result, err := lagging.Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Outdated) // The plan was made without the Deployment, which the cache is about to show.
	if len(result.Changes) > 0 || !cmp.Equal(before, deployment(t, owner)) {
		t.Errorf("it did %+v", result.Changes)
	}
	// No cache ever shows a Secret.
	others := plan(owner)
	others.Present = slices.DeleteFunc(others.Present, func(c owned.Configuration) bool { return *c.GetKind() == "Deployment" })
	result, err = lagging.Apply(t.Context(), owner, others)
	if err != nil || len(result.Changes) > 0 {
		t.Errorf("it did %+v: %v", result.Changes, err)
	}
}

// What was made once and is missing may have been deleted together with its owner.
func TestNothingIsMadeTwiceForADeletedOwner(t *testing.T) {
	owner := newOwner(t)
	applier := apply.New(frozen{}, cluster.Client, cluster.Client, cluster.Scheme, time.Minute)
	mustApply(t, applier, owner, plan(owner))
	for _, object := range []client.Object{owner.DeepCopy(), deployment(t, owner)} {
		if err := cluster.Client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	_, err := applier.Apply(t.Context(), owner, plan(owner))
	wantClass(t, err, reconcileerror.Outdated)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(owner), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Deployment was made again: %v", err)
	}
}
