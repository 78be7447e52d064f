package desired_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
)

func inputs(object *v1alpha1.Application) desired.Inputs {
	return desired.Inputs{Application: object}
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
		"ingress":        sample().Ingress("example.foo.com", "", "nginx").Claims(testkit.Now),
		"ingress-tls":    sample().Ingress("example.foo.com", "/shop", "nginx").Claims(testkit.Now).Spec(func(s *v1alpha1.ApplicationSpec) { s.Ingress.TLSSecret = "shop-tls" }),
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
	in.Rivals = []desired.Rival{{Application: sample().Namespace("a").Ingress("a.example.com", "/", "").Claims(testkit.Now).Obj()}}
	if difference := cmp.Diff(want, plan(t, in).Present[0]); difference != "" {
		t.Errorf("the Deployment depends on more than the spec:\n%s", difference)
	}
}
