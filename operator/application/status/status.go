package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// ofApplication is how an Application speaks of its pods.
var ofApplication = conditions.Wording{
	One: "pod", Many: "pods", Process: "the application",

	AllReady:      v1alpha1.ReasonAllPodsReady,
	ScaledToZero:  v1alpha1.ReasonScaledToZero,
	SomeReady:     v1alpha1.ReasonSomePodsReady,
	NoneReady:     v1alpha1.ReasonNoPodReady,
	Starting:      v1alpha1.ReasonPodsStarting,
	Updating:      v1alpha1.ReasonPodsUpdating,
	Stopping:      v1alpha1.ReasonPodsStopping,
	Failing:       v1alpha1.ReasonPodsFailing,
	Unschedulable: v1alpha1.ReasonPodsUnschedulable,
	Refused:       v1alpha1.ReasonPodsRefused,
}

// Application computes the status of an Application. Its old status serves only to keep the time of a condition's last
// transition, and conditions that others have added.
func Application(in desired.Inputs, pass conditions.Reconcile) v1alpha1.ApplicationStatus {
	application := in.Application
	next := *application.Status.DeepCopy()
	if pass.Err == nil {
		next.ObservedGeneration = application.Generation
	}
	pods := conditions.Workload{
		Reconcile: pass, Wording: ofApplication,
		Wanted: desired.Replicas(application), Generation: application.Generation,
		Checks: []conditions.Check{
			func(conditions.Workload) (string, string, bool) { return hostConflict(in) },
			func(conditions.Workload) (string, string, bool) { return cacheNotFound(in) },
			func(conditions.Workload) (string, string, bool) { return cacheNotBound(in) },
		},
	}
	next.Selector = pass.Selector
	next.URL = address(application, pass.Observed)
	next.Replicas, next.ReadyReplicas = pods.Replicas(), pods.ReadyPods()
	pods.SetAll(&next.Conditions)
	return next
}

// address returns the best of the ways to the application that there are, empty if there is none yet.
func address(application *v1alpha1.Application, observed workload.Observed) string {
	ingress := application.Spec.Ingress
	switch {
	case ingress != nil && observed.Has("Ingress", application.Name):
		protocol := "http"
		if ingress.TLSSecret != "" {
			protocol = "https"
		}
		return protocol + "://" + ingress.Host + desired.Path(ingress)
	case observed.Has("Service", application.Name):
		return fmt.Sprintf("http://%s.%s.svc:%d", application.Name, application.Namespace, desired.Port(application))
	}
	return ""
}

// hostConflict tells whose the address is. What other namespaces hold is nobody's business: they are not named.
func hostConflict(in desired.Inputs) (string, string, bool) {
	holder := desired.Holder(in)
	if holder == nil {
		return "", "", false
	}
	whom := "an Application of another namespace"
	if holder.Namespace == in.Application.Namespace {
		whom = "Application " + holder.Name
	}
	ingress := in.Application.Spec.Ingress
	return v1alpha1.ReasonHostConflict, fmt.Sprintf(
		"Host %s with path %s belongs to %s, which is older, so there is no Ingress; choose another host or path, or let the other one go",
		ingress.Host, desired.Path(ingress), whom), true
}

// cacheNotFound names the caches that do not exist.
func cacheNotFound(in desired.Inputs) (string, string, bool) {
	missing := cachesThat(in, func(found *cachev1alpha1.Memcached) bool { return found == nil })
	if len(missing) == 0 {
		return "", "", false
	}
	return v1alpha1.ReasonCacheNotFound, fmt.Sprintf(
		"%s not found in namespace %s: create %s, or remove %s from spec.caches; the pods run without",
		listed("Memcached", missing), in.Application.Namespace, them(missing), them(missing)), true
}

// cacheNotBound names the caches that exist, but have not published how to reach them.
func cacheNotBound(in desired.Inputs) (string, string, bool) {
	unbound := cachesThat(in, func(found *cachev1alpha1.Memcached) bool {
		return found != nil && found.Status.Binding == nil
	})
	if len(unbound) == 0 {
		return "", "", false
	}
	return v1alpha1.ReasonCacheNotBound, fmt.Sprintf(
		"%s without status.binding yet: kubectl describe memcached %s says why",
		listed("Memcached", unbound), strings.Join(unbound, " ")), true
}

// cachesThat returns the names of the wanted caches that are as asked, in the order of the spec. A cache that does not
// exist is nil.
func cachesThat(in desired.Inputs, is func(*cachev1alpha1.Memcached) bool) []string {
	var names []string
	for _, wanted := range in.Application.Spec.Caches {
		var found *cachev1alpha1.Memcached
		at := slices.IndexFunc(in.Caches, func(cache cachev1alpha1.Memcached) bool { return cache.Name == wanted.Name })
		if at >= 0 {
			found = &in.Caches[at]
		}
		if is(found) {
			names = append(names, wanted.Name)
		}
	}
	return names
}

// listed says "Memcached a is" or "Memcacheds a, b are".
func listed(kind string, names []string) string {
	if len(names) == 1 {
		return kind + " " + names[0] + " is"
	}
	return kind + "s " + strings.Join(names, ", ") + " are"
}

func them(names []string) string {
	if len(names) == 1 {
		return "it"
	}
	return "them"
}
