package desired

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// Plan is the desired state of a cache.
type Plan struct {
	owned.Plan

	// Records are those of the workload after this plan, the newest first.
	Records []inputs.Record

	// Pending is the change that waits for approval, nil without one.
	Pending *v1alpha1.MemcachedPending

	// Pull is what the pods wait for because images are missing on nodes, nil if they do not.
	Pull *pending.Pull

	// Recheck is when to plan again even if nothing that is watched has changed; 0 for never.
	Recheck time.Duration
}

// MakePlan returns everything that a cache needs. What limits access comes first; pods run without it only if the API server refuses
// it. The binding comes after the Service that it names.
//
// The error says what is wrong with the spec, or with what it refers to. The plan can be applied all the same: it keeps the
// cache as it is.
func MakePlan(in inputs.Inputs) (Plan, error) {
	workload, err := planWorkload(in)
	plan := workload
	if plan.Recheck = recheck(in.Memcached.Spec); plan.Pull != nil {
		plan.Recheck = pullRecheck
	}
	plan.New = owned.IsNew(in.Memcached)
	isRefused := refused(in, err)
	headless, secret := headlessService(in), binding(in)
	plan.Present = append(plan.Present, headless, secret)
	plan.Needs = append(plan.Needs, owned.Need{Object: owned.ReferenceTo(secret), Needs: owned.ReferenceTo(headless)})
	for _, optional := range []struct {
		wanted bool
		make   func() owned.Configuration
		kind   schema.GroupVersionKind
	}{
		{in.Memcached.Spec.Service != nil, func() owned.Configuration { return service(in) }, corev1.SchemeGroupVersion.WithKind("Service")},
		{disruptible(in.Memcached.Spec), func() owned.Configuration { return disruptionBudget(in) }, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")},
		{in.Memcached.Spec.NetworkPolicy != nil, func() owned.Configuration { return networkPolicy(in) }, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")},
		{in.Memcached.Spec.Monitoring != nil, func() owned.Configuration { return serviceMonitor(in) }, manifest.ServiceMonitorKind},
	} {
		if optional.kind == manifest.ServiceMonitorKind && !in.Features.ServiceMonitors {
			continue // The cluster has no such objects.
		}
		switch {
		case optional.kind.Kind == "Service" && checkAnnotations(in) != nil:
			plan.Kept = append(plan.Kept, named(in, optional.kind))
		case !optional.wanted && isRefused:
			plan.Kept = append(plan.Kept, named(in, optional.kind))
		case !optional.wanted:
			plan.Absent = append(plan.Absent, named(in, optional.kind))
		case optional.kind.Kind == "NetworkPolicy":
			plan.Present = slices.Insert(plan.Present, 0, optional.make())
		default:
			plan.Present = append(plan.Present, optional.make())
		}
	}
	return plan, err
}

// refused reports whether the spec cannot be used, so that it takes nothing away. What is wrong in a Secret is no reason, but may hide one.
func refused(in inputs.Inputs, err error) bool {
	if _, reason := reconcileerror.Describe(err); reason == v1alpha1.ReasonInvalidCertificate || reason == v1alpha1.ReasonInvalidUsers {
		wanted, _ := workloads(in)
		_, err = render(in, wanted.given, in.Memcached.Spec)
	}
	return err != nil
}

// hasAgents reports whether the agent runs beside memcached in any pod, or is to. Pods that go on with another spec than this one have theirs.
func hasAgents(in inputs.Inputs) bool {
	return inputs.NeedsAgent(in.Memcached.Spec) || slices.ContainsFunc(in.Pods, func(of corev1.Pod) bool {
		ended := of.Status.Phase == corev1.PodFailed || of.Status.Phase == corev1.PodSucceeded
		return !ended && pods.Container(of.Spec.Containers, agentapi.AgentContainer) != nil
	})
}

// named refers to the object of a kind that has the name of the cache.
func named(in inputs.Inputs, kind schema.GroupVersionKind) owned.Reference {
	return owned.Reference{GroupVersionKind: kind, Namespace: in.Memcached.Namespace, Name: in.Memcached.Name}
}

// Identity identifies the objects of a cache by their labels.
func Identity(memcached *v1alpha1.Memcached) owned.Identity {
	return owned.Identity{Name: inputs.ApplicationName, Instance: memcached.Name, Component: "cache"}
}

// owner makes a cache the controller of an object.
func owner(memcached *v1alpha1.Memcached) *metav1ac.OwnerReferenceApplyConfiguration {
	return owned.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))
}

// The kinds that run pods.
var (
	deploymentKind  = appsv1.SchemeGroupVersion.WithKind("Deployment")
	statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
)
