package desired_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired"
)

// A spec that is refused leaves the optional parts that it no longer asks for. What is wrong with a Secret does not keep them.
func TestARefusedSpecTakesNoPartAway(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1alpha1.MemcachedSpec)
		users  string
		gone   bool
	}{
		"a refused spec":                 {func(s *v1alpha1.MemcachedSpec) { s.Version = "1.5.0" }, "shop:a-password\n", false},
		"a refused spec and wrong users": {func(s *v1alpha1.MemcachedSpec) { s.Version = "1.5.0" }, "shop", false},
		"a missing Secret":               {func(s *v1alpha1.MemcachedSpec) { s.TLS = &v1alpha1.MemcachedTLS{SecretName: "tls"} }, "shop:a-password\n", false},
		"wrong users":                    {func(*v1alpha1.MemcachedSpec) {}, "shop", true},
		"nothing wrong":                  {func(*v1alpha1.MemcachedSpec) {}, "shop:a-password\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			in := withOneUser(v1alpha1.WorkloadDeployment, test.change)
			in.Users.Data["users"], in.Features.ServiceMonitors = []byte(test.users), true
			got, err := desired.MakePlan(in)
			if (err == nil) != (name == "nothing wrong") {
				t.Fatalf("the error is %v", err)
			}
			for _, kind := range []string{"Service", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor"} {
				ofKind := func(r owned.Reference) bool { return r.Kind == kind }
				if gone, kept := slices.ContainsFunc(got.Absent, ofKind), slices.ContainsFunc(got.Kept, ofKind); gone != test.gone || kept == test.gone {
					t.Errorf("%s: deleted %v, kept %v", kind, gone, kept)
				}
			}
		})
	}
}

// Pods may run with the agent although the spec does not need it any more. Their agents can be reached until they are gone.
func TestPodsWithTheAgentKeepItsPort(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(func(s *v1alpha1.MemcachedSpec) {
		s.NetworkPolicy = &v1alpha1.MemcachedNetworkPolicy{}
	}).Obj())
	ended := runningPod(0, "a")
	ended.Status.Phase = corev1.PodFailed
	for _, test := range []struct {
		pods  []corev1.Pod
		ports int
	}{{[]corev1.Pod{runningPod(0, "a")}, 2}, {[]corev1.Pod{ended}, 1}, {nil, 1}} {
		in.Pods = test.pods
		got := plan(t, in)
		if ports := planned[*corev1ac.ServiceApplyConfiguration](t, got).Spec.Ports; len(ports) != test.ports {
			t.Errorf("with %d pods, the Service has %d ports", len(test.pods), len(ports))
		}
		if rules := planned[*networkingv1ac.NetworkPolicyApplyConfiguration](t, got).Spec.Ingress; len(rules) != test.ports {
			t.Errorf("with %d pods, the NetworkPolicy has %d rules", len(test.pods), len(rules))
		}
	}
}
