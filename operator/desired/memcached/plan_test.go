package memcached_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
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

// v0.1.0 left this hash on the Deployment of such a cache, in the annotation that apply compares with. As long as ours is
// the same, an upgrade writes nothing to it, and no cache is emptied.
func TestDeploymentIsTheReleasedOne(t *testing.T) {
	const released = "276749c4c1757382"
	object := operatortesting.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj()
	raw, err := json.Marshal(memcached.Plan(inputs(object)).Present[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:8]) != released {
		t.Errorf("the Deployment has the hash %s, that of v0.1.0 was %s", hex.EncodeToString(sum[:8]), released)
	}
}

// Clients have written the names down, and the longest name of a cache has to leave room for them.
func TestNamesAreTheReleasedOnesAndFit(t *testing.T) {
	for name, got := range map[string]string{
		"cache-nodes":             memcached.ServiceName("cache"),
		"cache-binding":           memcached.BindingName("cache"),
		"cache-nodes.default.svc": memcached.Host("default", "cache"),
	} {
		if got != name {
			t.Errorf("got %s, released was %s", got, name)
		}
	}
	longest := strings.Repeat("a", v1alpha1.MaxNameLength)
	for _, name := range []string{memcached.ServiceName(longest), memcached.BindingName(longest)} {
		if len(name) > 63 {
			t.Errorf("%s has %d characters, DNS allows 63", name, len(name))
		}
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
