package desired_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

const (
	released = "docker.io/library/memcached@sha256:0000000000000000000000000000000000000000000000000000000000000000"
	image    = "docker.io/library/memcached@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	agent    = "quay.io/example/memcached-operator@sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// plan returns the plan of a cache with which nothing is wrong.
func plan(t *testing.T, in inputs.Inputs) desired.Plan {
	t.Helper()
	plan, err := desired.MakePlan(in)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// planned returns the object of a type in a plan.
func planned[T owned.Configuration](t *testing.T, plan desired.Plan) T {
	t.Helper()
	for _, configuration := range plan.Present {
		if found, ok := configuration.(T); ok {
			return found
		}
	}
	t.Fatalf("the plan has no such object: %+v", plan.Present)
	return *new(T)
}

func inputsFor(object *v1alpha1.Memcached) inputs.Inputs {
	return inputs.Inputs{Memcached: object, Images: inputs.Images{
		Memcached: map[string]string{"1.6.18": released, "1.6.45": image}, Default: "1.6.45", Agent: agent,
	}}
}

// slots asks for a StatefulSet, and for every object that is only there if the user wants it.
func slots(spec *v1alpha1.MemcachedSpec) {
	spec.Workload = v1alpha1.WorkloadStatefulSet
	spec.Service = &v1alpha1.MemcachedService{Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"example.com/pool": "a"}}
	spec.Disruption = &v1alpha1.MemcachedDisruption{}
	spec.NetworkPolicy = &v1alpha1.MemcachedNetworkPolicy{Clients: []networkingv1.NetworkPolicyPeer{
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}},
	}}
}

// The golden files show everything a cache is made of. A change below spec.template empties every cache when the
// operator is upgraded.
func TestPlan(t *testing.T) {
	for name, object := range map[string]*v1alpha1.Memcached{
		"three-nodes": testkit.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj(),
		"no-node":     testkit.MakeMemcached("example-memcached").UID("uid-1").Size(0).Obj(),
		"slots":       testkit.MakeMemcached("example-memcached").UID("uid-1").Size(3).Spec(slots).Obj(),
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Golden(t, name, plan(t, inputsFor(object)))
		})
	}
}

func TestPlanIsTheSameEachTime(t *testing.T) {
	object := testkit.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj()
	first := plan(t, inputsFor(object.DeepCopy()))
	for range 20 {
		if difference := cmp.Diff(first, plan(t, inputsFor(object.DeepCopy()))); difference != "" {
			t.Fatalf("two plans from the same inputs differ:\n%s", difference)
		}
	}
}

func TestPlanLeavesItsInputsAlone(t *testing.T) {
	object := testkit.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj()
	before := object.DeepCopy()
	plan(t, inputsFor(object))
	if difference := cmp.Diff(before, object); difference != "" {
		t.Errorf("the plan changed its input (-before +after):\n%s", difference)
	}
}

// The Deployment that v0.1.0 and v0.2.0 made, as it is applied, with everything but the annotations that they did not know.
func TestACacheOfAnEarlierReleaseKeepsItsPods(t *testing.T) {
	raw, err := os.ReadFile("testdata/released/v0.2.0.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var given struct {
		Present []appsv1ac.DeploymentApplyConfiguration
	}
	if err := yaml.Unmarshal(raw, &given); err != nil {
		t.Fatal(err)
	}
	in := inputsFor(testkit.MakeMemcached("example-memcached").UID("uid-1").Size(3).Obj())
	in.Deployment = &inputs.Workload{Template: given.Present[0].Spec.Template, Unrecorded: true}
	got := plan(t, in)
	now := planned[*appsv1ac.DeploymentApplyConfiguration](t, got)
	if difference := cmp.Diff(&given.Present[0], now); difference != "" {
		t.Errorf("the Deployment is not the one that runs (-runs +wanted):\n%s", difference)
	}
	if got.Pending == nil || got.Pending.Class != "Cold" || len(got.Pending.Changes) != 1 || got.Pending.Changes[0].Field != "image" {
		t.Errorf("pending is %+v, want the image alone", got.Pending)
	}
	// A mistake in the spec changes nothing of that, and does not hide it.
	in.Memcached.Spec.Auth = &v1alpha1.MemcachedAuth{SecretName: "forgotten"}
	mistaken, err := desired.MakePlan(in)
	if difference := cmp.Diff(got.Pending, mistaken.Pending); err == nil || difference != "" {
		t.Errorf("with the error %v, what waits has changed (-before +after):\n%s", err, difference)
	}
}

// What waits goes on waiting if somebody deletes the record.
func TestALostRecordReleasesNothing(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(2).Spec(func(s *v1alpha1.MemcachedSpec) { s.Threads = ptr.To[int32](8) }).Obj())
	in.Images.Default = "1.6.18"
	before := planned[*appsv1ac.DeploymentApplyConfiguration](t, plan(t, in))
	in.Images.Default = "1.6.45"
	in.Deployment = &inputs.Workload{Template: before.Spec.Template, Unrecorded: true}
	got := plan(t, in)
	now := planned[*appsv1ac.DeploymentApplyConfiguration](t, got)
	if cmp.Diff(before.Spec.Template, now.Spec.Template) != "" || got.Pending == nil {
		t.Errorf("waiting is %+v, and this runs:\n%s", got.Pending, cmp.Diff(before.Spec.Template, now.Spec.Template))
	}
}

// Clients have written the names down, and the longest name of a cache has to leave room for them.
func TestNamesAreTheReleasedOnesAndFit(t *testing.T) {
	for name, got := range map[string]string{
		"cache-nodes":             desired.ServiceName("cache"),
		"cache-binding":           desired.BindingName("cache"),
		"cache-nodes.default.svc": desired.Host("default", "cache"),
	} {
		if got != name {
			t.Errorf("got %s, released was %s", got, name)
		}
	}
	longest := strings.Repeat("a", v1alpha1.MaxNameLength)
	for _, name := range []string{desired.ServiceName(longest), desired.BindingName(longest)} {
		if len(name) > 63 {
			t.Errorf("%s has %d characters, DNS allows 63", name, len(name))
		}
	}
}

// A pod whose agent restarts is not ready, and memcached in it serves clients.
func TestTheServicePublishesPodsWhoseAgentRestarts(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(slots).Obj())
	for _, restarts := range []bool{true, false} {
		in.AgentRestarts = restarts
		for _, configuration := range plan(t, in).Present {
			service, ok := configuration.(*corev1ac.ServiceApplyConfiguration)
			if ok && *service.Name == "cache" && ptr.Deref(service.Spec.PublishNotReadyAddresses, false) != restarts {
				t.Errorf("with a restart: %t, the Service is %+v", restarts, service.Spec)
			}
		}
	}
}

// Selectors can never be changed. If this test fails, caches made by released versions cannot be looked after any more.
func TestSelectorIsTheReleasedOne(t *testing.T) {
	id := desired.Identity(testkit.MakeMemcached("a").Obj())
	const released = "app.kubernetes.io/instance=a,app.kubernetes.io/managed-by=memcached-operator,app.kubernetes.io/name=memcached"
	if id.SelectorString() != released {
		t.Errorf("selector is %s, released was %s", id.SelectorString(), released)
	}
}

// The budget of a cache of one node would keep its machine from being drained.
func TestABudgetNeedsTwoNodes(t *testing.T) {
	for size, budgets := range map[int32]int{0: 0, 1: 0, 2: 1} {
		object := testkit.MakeMemcached("cache").Size(size).Spec(func(s *v1alpha1.MemcachedSpec) {
			s.Disruption = &v1alpha1.MemcachedDisruption{}
		}).Obj()
		found := 0
		for _, configuration := range plan(t, inputsFor(object)).Present {
			if *configuration.GetKind() == "PodDisruptionBudget" {
				found++
			}
		}
		if found != budgets {
			t.Errorf("a cache of %d has %d budgets, want %d", size, found, budgets)
		}
	}
}

// While a cache moves to slots, what runs it is neither changed nor deleted before the slots are ready.
func TestACacheMovesWhenTheNewNodesAreReady(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(2).Spec(func(s *v1alpha1.MemcachedSpec) {
		s.Workload = v1alpha1.WorkloadStatefulSet
	}).Obj())
	in.Deployment = &inputs.Workload{Template: corev1ac.PodTemplateSpec(), Complete: true}
	kinds := func(plan desired.Plan) string {
		var words []string
		for _, configuration := range plan.Present {
			if kind := *configuration.GetKind(); kind == "Deployment" || kind == "StatefulSet" {
				words = append(words, "+"+kind)
			}
		}
		for _, reference := range plan.Kept {
			words = append(words, "="+reference.Kind)
		}
		for _, reference := range plan.Absent {
			words = append(words, "-"+reference.Kind)
		}
		return strings.Join(words, " ")
	}
	const optional = " -Service -PodDisruptionBudget -NetworkPolicy"
	for name, test := range map[string]struct {
		slots *inputs.Workload
		want  string
	}{
		"there are none yet": {nil, "+StatefulSet =Deployment" + optional},
		"they start":         {&inputs.Workload{Template: mustTemplate(t, in), Revision: "cache-1"}, "+StatefulSet =Deployment" + optional},
		"they are ready":     {&inputs.Workload{Template: mustTemplate(t, in), Revision: "cache-1", Complete: true}, "+StatefulSet -Deployment" + optional},
	} {
		t.Run(name, func(t *testing.T) {
			in.StatefulSet = test.slots
			if got := kinds(plan(t, in)); got != test.want {
				t.Errorf("the plan is %s, want %s", got, test.want)
			}
		})
	}
}

// mustTemplate returns the template that the plan gives a new workload.
func mustTemplate(t *testing.T, in inputs.Inputs) *corev1ac.PodTemplateSpecApplyConfiguration {
	t.Helper()
	in.StatefulSet = nil
	template := planned[*appsv1ac.StatefulSetApplyConfiguration](t, plan(t, in)).Spec.Template
	delete(template.Annotations, owned.RecordAnnotation)
	return template
}

// What is wrong with a spec changes nothing of what runs; a new size is followed all the same.
func TestACacheGoesOnWithASpecThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		spoil  func(*v1alpha1.MemcachedSpec)
		reason string
		says   string
	}{
		"an unknown version": {func(s *v1alpha1.MemcachedSpec) { s.Version = "1.5.0" }, v1alpha1.ReasonUnknownVersion, "choose one of 1.6.18, 1.6.45"},
		"a warm restart of a Deployment": {func(s *v1alpha1.MemcachedSpec) { s.WarmRestart = true },
			v1alpha1.ReasonInvalidCombination, "set the workload, or remove warmRestart"},
		"a gate of a Deployment": {func(s *v1alpha1.MemcachedSpec) { s.HitRatioGate = &v1alpha1.MemcachedHitRatioGate{} },
			v1alpha1.ReasonInvalidCombination, "set the workload, or remove hitRatioGate"},
		"too little memory": {func(s *v1alpha1.MemcachedSpec) {
			s.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
		}, v1alpha1.ReasonInvalidSizing, "Set at least"},
		"an argument that has a field":  {func(s *v1alpha1.MemcachedSpec) { s.ExtraArgs = []string{"-v", "-m", "9"} }, v1alpha1.ReasonInvalidArguments, "use that field"},
		"an argument without its value": {func(s *v1alpha1.MemcachedSpec) { s.ExtraArgs = []string{"-v", "-o"} }, v1alpha1.ReasonInvalidArguments, "-o needs a value"},
		"devices": {func(s *v1alpha1.MemcachedSpec) { s.Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}} },
			v1alpha1.ReasonInvalidCombination, "remove it"},
		"a Secret that is not there": {func(s *v1alpha1.MemcachedSpec) { s.TLS = &v1alpha1.MemcachedTLS{SecretName: "tls"} },
			v1alpha1.ReasonSecretNotFound, "there is no Secret tls in the namespace default"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputsFor(testkit.MakeMemcached("cache").Size(5).Spec(test.spoil).Obj())
			runs := corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithHostname("as-it-was"))
			in.Deployment = &inputs.Workload{Template: runs}
			got, err := desired.MakePlan(in)
			if _, reason := reconcileerror.Describe(err); reason != test.reason || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %s %v, want %s with %q", reason, err, test.reason, test.says)
			}
			now := planned[*appsv1ac.DeploymentApplyConfiguration](t, got)
			if *now.Spec.Replicas != 5 || cmp.Diff(runs, now.Spec.Template) != "" {
				t.Errorf("the Deployment is %+v", now)
			}
			in.Deployment = nil
			if got, _ := desired.MakePlan(in); len(got.Present) == 0 || *got.Present[0].GetKind() != "Service" {
				t.Errorf("without anything that runs, the plan is %+v", got.Present)
			}
		})
	}
}
