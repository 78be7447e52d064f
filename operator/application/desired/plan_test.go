package desired_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
)

func inputs(object *v1alpha1.Application, claimants ...v1alpha1.Application) desired.Inputs {
	return desired.Inputs{Application: object, Claimants: claimants}
}

// plan returns the plan for valid inputs.
func plan(t *testing.T, in desired.Inputs) owned.Plan {
	t.Helper()
	plan, err := desired.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func sample() *testkit.Application {
	return testkit.MakeApplication("application-sample").Change(func(a *v1alpha1.Application) { a.UID = "uid-1" })
}

// The golden files contain all objects of an Application. A change below spec.template restarts every pod when the operator
// is upgraded.
func TestPlan(t *testing.T) {
	for name, object := range map[string]*testkit.Application{
		"plain":          sample(),
		"no-replica":     sample().Replicas(0),
		"two-replicas":   sample().Replicas(2),
		"ingress":        sample().Ingress("example.foo.com", "", "nginx"),
		"ingress-tls":    sample().Ingress("example.foo.com", "/shop", "nginx").Spec(func(s *v1alpha1.ApplicationSpec) { s.Ingress.TLSSecret = "shop-tls" }),
		"caches":         sample().Caches("sessions", "pages").Env("GREETING", "hello").Env("SERVERS", "$(MEMCACHED_SERVERS)"),
		"environment":    sample().Spec(environment),
		"open-security":  sample().Spec(openSecurity),
		"other-security": sample().Spec(otherSecurity),
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Golden(t, name, plan(t, inputs(object.Obj())))
		})
	}
}

// environment uses every source of a variable, and quantities in an unusual notation.
func environment(spec *v1alpha1.ApplicationSpec) {
	spec.Port = 3000
	spec.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.25"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
	spec.Env = []v1alpha1.EnvVar{
		{Name: "PLAIN", Value: "value"},
		{Name: "EMPTY"},
		{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "RESOURCE", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
		{Name: "CONFIG", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "mode", Optional: ptr.To(true),
		}}},
		{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "credentials"}, Key: "token",
		}}},
	}
}

// openSecurity overrides the restricted defaults.
func openSecurity(spec *v1alpha1.ApplicationSpec) {
	spec.PodSecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](0)}
	spec.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
}

// otherSecurity adds to the defaults.
func otherSecurity(spec *v1alpha1.ApplicationSpec) {
	spec.PodSecurityContext = &corev1.PodSecurityContext{
		FSGroup: ptr.To[int64](2000),
		SeccompProfile: &corev1.SeccompProfile{
			Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("profiles/web.json"),
		},
	}
	spec.SecurityContext = &corev1.SecurityContext{
		RunAsUser: ptr.To[int64](1000), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}},
	}
}

func TestPlanIsTheSameEachTime(t *testing.T) {
	object := sample().Replicas(2).Ingress("a.example.com", "/", "nginx").Caches("a", "b").Spec(otherSecurity).Obj()
	first := plan(t, inputs(object.DeepCopy()))
	for range 20 {
		if difference := cmp.Diff(first, plan(t, inputs(object.DeepCopy()))); difference != "" {
			t.Fatalf("two plans from the same inputs differ:\n%s", difference)
		}
	}
}

func TestPlanLeavesItsInputsAlone(t *testing.T) {
	object := sample().Replicas(2).Ingress("a.example.com", "/", "nginx").Caches("a").Spec(environment).Spec(openSecurity).Obj()
	before := object.DeepCopy()
	plan(t, inputs(object))
	if difference := cmp.Diff(before, object); difference != "" {
		t.Errorf("the plan changed its input (-before +after):\n%s", difference)
	}
}

// Selectors are immutable. If this test fails, the operator cannot manage applications of released versions any more.
func TestSelectorIsTheReleasedOne(t *testing.T) {
	id := desired.Identity(testkit.MakeApplication("a").Obj())
	const released = "app.kubernetes.io/instance=a,app.kubernetes.io/managed-by=memcached-operator,app.kubernetes.io/name=application"
	if id.SelectorString() != released {
		t.Errorf("selector is %s, released was %s", id.SelectorString(), released)
	}
}

// A change of a cache must not restart the pods that use it.
func TestThePodTemplateDependsOnTheSpecAlone(t *testing.T) {
	in := inputs(sample().Caches("a").Ingress("a.example.com", "/", "").Obj())
	want := plan(t, in).Present[0]
	in.Caches = []cachev1alpha1.Memcached{*testkit.MakeMemcached("a").Size(3).Obj()}
	in.Claimants = []v1alpha1.Application{*sample().Namespace("a").Ingress("a.example.com", "/", "").Obj()}
	if difference := cmp.Diff(want, plan(t, in).Present[0]); difference != "" {
		t.Errorf("the Deployment depends on more than the spec:\n%s", difference)
	}
}

func TestTheOldestClaimantHoldsTheAddress(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.NewTime(time.Date(2030, 1, 1, 0, 0, second, 0, time.UTC)) }
	claims := func(namespace, name string, second int) *v1alpha1.Application {
		return testkit.MakeApplication(name).Namespace(namespace).Created(at(second)).Ingress("a.example.com", "/", "").Obj()
	}
	for name, test := range map[string]struct {
		claimants []v1alpha1.Application
		want      string
	}{
		"nobody else":          {},
		"a younger one":        {claimants: []v1alpha1.Application{*claims("a", "a", 6)}},
		"an older one":         {claimants: []v1alpha1.Application{*claims("z", "z", 4)}, want: "z/z"},
		"the oldest of two":    {claimants: []v1alpha1.Application{*claims("b", "b", 4), *claims("c", "c", 3)}, want: "c/c"},
		"an earlier name":      {claimants: []v1alpha1.Application{*claims("m", "a", 5)}, want: "m/a"},
		"a later name":         {claimants: []v1alpha1.Application{*claims("m", "z", 5)}},
		"an earlier namespace": {claimants: []v1alpha1.Application{*claims("a", "z", 5)}, want: "a/z"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(claims("m", "m", 5), test.claimants...)
			got := ""
			if holder := desired.Holder(in); holder != nil {
				got = holder.Namespace + "/" + holder.Name
			}
			if got != test.want {
				t.Errorf("the address belongs to %q, want %q", got, test.want)
			}
			found := plan(t, in)
			if hasIngress := len(found.Present) == 3; hasIngress != (test.want == "") {
				t.Errorf("the plan is %+v", found)
			}
		})
	}
}

func TestAddressesAreTheSameWithAndWithoutASlashAtTheEnd(t *testing.T) {
	address := func(host, path string) string {
		return desired.Address(testkit.MakeApplication("a").Ingress(host, path, "").Obj())
	}
	for name, test := range map[string]struct {
		a, b string
		same bool
	}{
		"nothing and the root":     {a: address("h", ""), b: address("h", "/"), same: true},
		"with and without a slash": {a: address("h", "/shop"), b: address("h", "/shop/"), same: true},
		"two paths":                {a: address("h", "/shop"), b: address("h", "/")},
		"two hosts":                {a: address("h", "/"), b: address("i", "/")},
	} {
		if (test.a == test.b) != test.same {
			t.Errorf("%s: %q and %q", name, test.a, test.b)
		}
	}
	if none := desired.Address(testkit.MakeApplication("a").Obj()); none != "" {
		t.Errorf("without an ingress the address is %q", none)
	}
}
