package desired_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// What is in the cluster stays as it is: a controller may have given the Service a load balancer, which clients use.
func TestAnnotationsThatAreNotAllowedAreRefused(t *testing.T) {
	object := testkit.MakeMemcached("cache").Size(1).Spec(func(spec *v1alpha1.MemcachedSpec) {
		spec.Service = &v1alpha1.MemcachedService{Annotations: map[string]string{
			"external-dns.alpha.kubernetes.io/hostname": "bank.example.com", "example.com/pool": "a", "example.com/other": "b",
		}}
	}).Obj()
	in := inputsFor(object)
	in.Deployment = &inputs.Workload{Template: planned[*appsv1ac.DeploymentApplyConfiguration](t, plan(t, in)).Spec.Template, Spec: object.Spec}
	in.ServiceAnnotations = inputs.AllowedAnnotations{"example.com/pool"}
	got, err := desired.MakePlan(in)
	if class, reason := reconcileerror.Describe(err); class != reconcileerror.Terminated || reason != v1alpha1.ReasonAnnotationNotAllowed {
		t.Fatalf("the error is %v", err)
	}
	for _, part := range []string{
		"MEMCACHED_SERVICE_ANNOTATIONS of the operator does not allow example.com/other, external-dns.alpha.kubernetes.io/hostname: ", "ask the administrator",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	service := owned.Reference{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Namespace: object.Namespace, Name: object.Name}
	if !slices.Contains(got.Kept, service) || slices.Contains(got.Absent, service) {
		t.Errorf("the Service is not kept: %+v", got.Plan)
	}
	for _, configuration := range got.Present {
		if found, ok := configuration.(*corev1ac.ServiceApplyConfiguration); ok && *found.Name == object.Name {
			t.Errorf("the Service is written with %v", found.Annotations)
		}
	}
	if template := planned[*appsv1ac.DeploymentApplyConfiguration](t, got).Spec.Template; template != in.Deployment.Template {
		t.Error("the pods change")
	}
	in.ServiceAnnotations = inputs.AllowedAnnotations{"example.com/", "external-dns.*"}
	plan(t, in)
}

// An annotation turns off AppArmor for a container, whose image the user may have chosen.
func TestPodAnnotationsGiveNoPrivilege(t *testing.T) {
	in := inputsFor(testkit.MakeMemcached("cache").Size(1).Spec(func(spec *v1alpha1.MemcachedSpec) {
		spec.PodAnnotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/memcached": "unconfined"}
	}).Obj())
	_, err := desired.MakePlan(in)
	if _, reason := reconcileerror.Describe(err); reason != v1alpha1.ReasonPodSecurityViolation || !strings.Contains(err.Error(), "change spec.podAnnotations") {
		t.Errorf("the error is %v", err)
	}
}
