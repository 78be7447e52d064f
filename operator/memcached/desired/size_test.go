package desired_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// fewConnections leave 70 MiB of 128Mi for items.
func fewConnections(spec *v1alpha1.MemcachedSpec) {
	spec.MaxConnections = ptr.To[int32](64)
	limitedTo("128Mi")(spec)
}

func limitedTo(memory string) func(*v1alpha1.MemcachedSpec) {
	return func(spec *v1alpha1.MemcachedSpec) {
		spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

// Versions 0.3.0 and 0.4.0 gave such a cache 72 MiB for items. Less would evict items of running pods, so they keep it until the user
// changes what it is computed from.
func TestPodsKeepTheMemoryForItemsThatAnEarlierReleaseComputed(t *testing.T) {
	asking := func(spec *v1alpha1.MemcachedSpec) { spec.CacheMemory = ptr.To(resource.MustParse("72Mi")) }
	same := func(*v1alpha1.MemcachedSpec) {}
	for name, test := range map[string]struct {
		before, change func(*v1alpha1.MemcachedSpec)
		want           int64
	}{
		"the same spec":                   {same, same, 72},
		"the same spec, with cacheMemory": {asking, same, 72},
		"a change of something else":      {same, func(s *v1alpha1.MemcachedSpec) { s.PodLabels = map[string]string{"team": "shop"} }, 72},
		"defaults, written out": {same, func(s *v1alpha1.MemcachedSpec) {
			s.Threads, s.MaxItemSize = ptr.To[int32](4), ptr.To(resource.MustParse("1Mi"))
		}, 72},
		"what the pods have, asked for": {same, asking, 72},
		"no longer asked for":           {asking, func(s *v1alpha1.MemcachedSpec) { s.CacheMemory = nil }, 72},
		"a little less, asked for": {same, func(s *v1alpha1.MemcachedSpec) {
			s.CacheMemory = ptr.To(resource.MustParse("71Mi"))
		}, 71},
		"a little more memory":            {same, limitedTo("129Mi"), 72},
		"a little more, with cacheMemory": {asking, limitedTo("129Mi"), 72},
		"much more memory":                {same, limitedTo("160Mi"), 101},
		"less memory":                     {same, limitedTo("127Mi"), 69},
		"more connections":                {same, func(s *v1alpha1.MemcachedSpec) { s.MaxConnections = ptr.To[int32](65) }, 70},
	} {
		for _, workload := range []v1alpha1.WorkloadKind{v1alpha1.WorkloadDeployment, v1alpha1.WorkloadStatefulSet} {
			t.Run(name+" of a "+string(workload), func(t *testing.T) {
				in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(fewConnections).Obj())
				in.Memcached.Spec.Workload = workload
				released := plan(t, in)
				ofRelease(t, &released.Records[0], test.before)
				test.before(&in.Memcached.Spec)
				test.change(&in.Memcached.Spec)
				got := plan(t, withRecords(in, released))
				if memory := cacheMemory(t, got); memory != test.want || got.Pending != nil {
					t.Errorf("the pods get %d MiB, want %d; pending is %+v", memory, test.want, got.Pending)
				}
			})
		}
	}
}

// A record that is lost hides that the user has lowered the memory limit.
func TestALostRecordKeepsNoMemoryBeyondTheLimit(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(limitedTo("1Gi")).Spec(automatic).Obj())
	before := plan(t, in)
	limitedTo("256Mi")(&in.Memcached.Spec)
	in = withRecords(in, before)
	in.Deployment.Spec = in.Memcached.Spec
	if memory := cacheMemory(t, plan(t, in)); memory > 200 {
		t.Errorf("pods of 256Mi get %d MiB for items", memory)
	}
}

// Somebody has removed the arguments of the workload, and its record is lost. memcached's default of 64 MiB is no memory that pods have.
func TestATemplateThatStatesNoMemoryKeepsNone(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(limitedTo("70Mi")).Spec(automatic).Obj())
	before := plan(t, in)
	want := cacheMemory(t, before)
	before.Records[0].Template.Spec.Containers[0].Args = nil
	if memory := cacheMemory(t, plan(t, withRecords(in, before))); memory != want {
		t.Errorf("pods of 70Mi get %d MiB for items, want %d", memory, want)
	}
}

func automatic(spec *v1alpha1.MemcachedSpec) {
	spec.Updates = &v1alpha1.MemcachedUpdates{Policy: v1alpha1.UpdateAutomatic}
}

// cacheMemory returns the memory for items that a plan gives the pods, in MiB.
func cacheMemory(t *testing.T, plan desired.Plan) int64 {
	t.Helper()
	arguments, err := args.Parse(plan.Records[0].Template.Spec.Containers[0].Args)
	if err != nil {
		t.Fatal(err)
	}
	return arguments.CacheMemory
}

// ofRelease turns the record of a new cache into that of an earlier release for a spec.
func ofRelease(t *testing.T, record *inputs.Record, spec func(*v1alpha1.MemcachedSpec)) {
	t.Helper()
	spec(&record.Spec)
	container := &record.Template.Spec.Containers[0]
	before := strings.Join(container.Args, " ")
	after := strings.Replace(before, "-m 70 ", "-m 72 ", 1)
	if after == before {
		t.Fatalf("a new cache has the arguments %s, want -m 70", before)
	}
	container.Args = strings.Fields(after)
	if _, found := record.Template.Annotations[agentapi.CacheMemoryAnnotation]; found {
		record.Template.Annotations[agentapi.CacheMemoryAnnotation] = fmt.Sprint(72)
	}
}

func TestANewCacheGetsNoMoreMemoryForItemsThanFits(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Spec(fewConnections).Obj())
	in.Memcached.Spec.CacheMemory = ptr.To(resource.MustParse("72Mi"))
	_, err := desired.MakePlan(in)
	if _, reason := reconcileerror.Describe(err); reason != v1alpha1.ReasonInvalidSizing || !strings.Contains(err.Error(), "at most 70Mi") {
		t.Errorf("the error is %s %v, want %s", reason, err, v1alpha1.ReasonInvalidSizing)
	}
}
