// Package desired computes the desired state of an Application. It is pure: the same inputs give the same plan, and it
// uses no client, context, clock or environment.
//
// The pod template depends on the Application's spec only. Creating, changing or deleting a cache restarts no pod: the
// pod refers to the binding Secret by a name that never changes, and the kubelet updates its contents.
package desired

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// ApplicationName is the value of the label app.kubernetes.io/name on all objects of an Application.
const ApplicationName = "application"

// Plan returns the objects that an Application must have, and those that it must not have. All have the name of the
// Application. The error says what is wrong with the spec; the plan then leaves the pods as they are.
func Plan(in Inputs) (owned.Plan, error) {
	plan := owned.Plan{New: owned.IsNew(in.Application)}
	err := workload.CheckSize("spec.replicas", Replicas(in.Application))
	if err == nil {
		configuration := deployment(in)
		plan.Present = append(plan.Present, configuration)
		refused := workload.CheckPodSecurity(cmp.Or(in.PodSecurity, api.LevelBaseline), configuration.Spec.Template, "change "+
			"spec.podSecurityContext and spec.securityContext, or ask the administrator to change APPLICATION_POD_SECURITY of the operator")
		plan.Rendered = append(plan.Rendered, rendered(in, refused))
	} else {
		plan.Kept = append(plan.Kept, reference(in, appsv1.SchemeGroupVersion.WithKind("Deployment")))
	}
	plan.Present = append(plan.Present, service(in))
	addIngress(&plan, in)
	if Replicas(in.Application) >= disruptible {
		plan.Present = append(plan.Present, disruptionBudget(in))
	} else {
		plan.Absent = append(plan.Absent, reference(in, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")))
	}
	return plan, err
}

// rendered returns what tells whether a rollout is the operator's own. No field may be missing that the pod template depends on.
func rendered(in Inputs, refused error) owned.Rendered {
	spec := *in.Application.Spec.DeepCopy()
	spec.Replicas, spec.Ingress = nil, nil // They concern no pod.
	return owned.Rendered{
		Object: reference(in, appsv1.SchemeGroupVersion.WithKind("Deployment")), Spec: spec,
		SpecApplied: in.Application.Status.ObservedGeneration == in.Application.Generation, Refused: refused,
	}
}

// addIngress adds the Ingress. It stays as it is if nobody else holds the address, and the claim could not be recorded.
func addIngress(plan *owned.Plan, in Inputs) {
	own := reference(in, networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	switch {
	case HasHost(in):
		plan.Present = append(plan.Present, ingress(in))
		plan.Needs = []owned.Need{{Object: own, Needs: reference(in, corev1.SchemeGroupVersion.WithKind("Service"))}}
	case in.Application.Spec.Ingress != nil && Holder(in) == nil:
		plan.Kept = append(plan.Kept, own)
	default:
		plan.Absent = append(plan.Absent, own)
	}
}

// Identity returns the identity for the labels of an Application's objects.
func Identity(application *v1alpha1.Application) owned.Identity {
	return owned.Identity{Name: ApplicationName, Instance: application.Name, Component: "web"}
}

// Replicas returns the wanted number of pods.
func Replicas(application *v1alpha1.Application) int32 {
	return ptr.Deref(application.Spec.Replicas, 1)
}

// Port returns the TCP port that the application listens on.
func Port(application *v1alpha1.Application) int32 {
	return cmp.Or(application.Spec.Port, defaultPort)
}

func owner(in Inputs) *metav1ac.OwnerReferenceApplyConfiguration {
	return owned.OwnerReference(in.Application, v1alpha1.GroupVersion.WithKind(v1alpha1.ApplicationKind))
}

func reference(in Inputs, gvk schema.GroupVersionKind) owned.Reference {
	return owned.Reference{GroupVersionKind: gvk, Namespace: in.Application.Namespace, Name: in.Application.Name}
}
