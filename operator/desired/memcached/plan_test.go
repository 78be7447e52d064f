package memcached_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/memcached"
	"github.com/example/memcached-operator/operator/scope"
	operatortesting "github.com/example/memcached-operator/operator/testing"
)

const image = "docker.io/library/memcached@sha256:0000000000000000000000000000000000000000000000000000000000000000"

func inputs(object *v1alpha1.Memcached) scope.MemcachedInputs {
	return scope.MemcachedInputs{Memcached: object, Image: image}
}

// The golden files show everything a cache is made of. A change below spec.template empties every cache when the
// operator is upgraded.
func TestPlan(t *testing.T) {
	for name, object := range map[string]*v1alpha1.Memcached{
		"three-nodes": operatortesting.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj(),
		"no-node":     operatortesting.MakeMemcached("example-memcached").UID("uid-1").Size(0).Obj(),
	} {
		t.Run(name, func(t *testing.T) {
			operatortesting.Golden(t, name, memcached.Plan(inputs(object)))
		})
	}
}

func TestPlanIsTheSameEachTime(t *testing.T) {
	object := operatortesting.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj()
	first := memcached.Plan(inputs(object.DeepCopy()))
	for range 20 {
		if difference := cmp.Diff(first, memcached.Plan(inputs(object.DeepCopy()))); difference != "" {
			t.Fatalf("two plans from the same inputs differ:\n%s", difference)
		}
	}
}

func TestPlanLeavesItsInputsAlone(t *testing.T) {
	object := operatortesting.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj()
	before := object.DeepCopy()
	memcached.Plan(inputs(object))
	if difference := cmp.Diff(before, object); difference != "" {
		t.Errorf("the plan changed its input (-before +after):\n%s", difference)
	}
}

// Selectors can never be changed. If this test fails, caches made by released versions cannot be looked after any more.
func TestSelectorIsTheReleasedOne(t *testing.T) {
	id := memcached.Identity(operatortesting.MakeMemcached("a").Obj())
	const released = "app.kubernetes.io/instance=a,app.kubernetes.io/managed-by=memcached-operator,app.kubernetes.io/name=memcached"
	if id.SelectorString() != released {
		t.Errorf("selector is %s, released was %s", id.SelectorString(), released)
	}
}
