// Package status computes the status of an Application. It is pure: the time is an input.
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

// ofApplication is the wording of an Application's conditions.
var ofApplication = conditions.Wording{
	Process: "the application",

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

// Application computes the status of an Application. The old status only provides the transition times of conditions,
// and the conditions of other clients.
func Application(in desired.Inputs, run conditions.Reconcile) v1alpha1.ApplicationStatus {
	application := in.Application
	next := *application.Status.DeepCopy()
	if run.Err == nil {
		next.ObservedGeneration = application.Generation
	}
	pods := conditions.Workload{
		Reconcile: run, Wording: ofApplication,
		Wanted: desired.Replicas(application), Generation: application.Generation,
		Checks: []conditions.Check{
			func(conditions.Workload) (string, string, bool) { return hostConflict(in) },
			func(conditions.Workload) (string, string, bool) { return cacheNotFound(in) },
			func(conditions.Workload) (string, string, bool) { return cacheNotBound(in, reported) },
		},
		Waits: []conditions.Check{
			func(conditions.Workload) (string, string, bool) { return cacheNotBound(in, notReported) },
		},
	}
	next.Selector = run.Selector
	next.URL = address(application, run.Observed)
	if !desired.HasHost(in) && !desired.Serves(in.Ingress, desired.ClaimedAddress(application)) {
		next.IngressClaim = nil
	}
	next.Replicas, next.ReadyReplicas = pods.Replicas(), pods.ReadyPods()
	pods.SetAll(&next.Conditions)
	return next
}

// address returns the URL of the application, empty if neither Ingress nor Service exists yet.
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

// hostConflict reports the Application that holds the address. What is in another namespace is not told, because the user may not
// be allowed to see it.
func hostConflict(in desired.Inputs) (string, string, bool) {
	holder := desired.Holder(in)
	if holder == nil {
		return "", "", false
	}
	relation := "belongs to Application " + holder.Name
	if holder.Namespace != in.Application.Namespace {
		relation = "belongs to, or overlaps with that of, an Application of another namespace"
	}
	ingress := in.Application.Spec.Ingress
	return v1alpha1.ReasonHostConflict, fmt.Sprintf(
		"Host %s with path %s %s, which had it first, so no Ingress is created: "+
			"choose another host or path, or change the other Application",
		ingress.Host, desired.Path(ingress), relation), true
}

// cacheNotFound reports caches that do not exist.
func cacheNotFound(in desired.Inputs) (string, string, bool) {
	missing := cachesThat(in, func(found *cachev1alpha1.Memcached) bool { return found == nil })
	if len(missing) == 0 {
		return "", "", false
	}
	return v1alpha1.ReasonCacheNotFound, fmt.Sprintf(
		"%s not exist in namespace %s: create %[3]s, or remove %[3]s from spec.caches; the pods run without %[3]s",
		listed(missing, "does", "do"), in.Application.Namespace, them(missing)), true
}

// reported and notReported tell whether the operator has reported on a cache. A new one is reported on when it is ready, or after some
// seconds, and nobody has to act before.
func reported(cache *cachev1alpha1.Memcached) bool    { return len(cache.Status.Conditions) > 0 }
func notReported(cache *cachev1alpha1.Memcached) bool { return !reported(cache) }

// cacheNotBound reports caches that exist, but have not published how to connect to them. of limits them to some.
func cacheNotBound(in desired.Inputs, of func(*cachev1alpha1.Memcached) bool) (string, string, bool) {
	unbound := cachesThat(in, func(found *cachev1alpha1.Memcached) bool {
		return found != nil && found.Status.Binding == nil && of(found)
	})
	if len(unbound) == 0 {
		return "", "", false
	}
	return v1alpha1.ReasonCacheNotBound, fmt.Sprintf(
		"%s no status.binding yet: see kubectl describe memcached %s",
		listed(unbound, "has", "have"), strings.Join(unbound, " ")), true
}

// cachesThat returns the names of the listed caches for which is returns true, in the order of the spec. is gets nil
// for a cache that does not exist.
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

// listed returns "Memcached a" and the singular verb, or "Memcacheds a, b" and the plural one.
func listed(names []string, singular, plural string) string {
	if len(names) == 1 {
		return "Memcached " + names[0] + " " + singular
	}
	return "Memcacheds " + strings.Join(names, ", ") + " " + plural
}

func them(names []string) string {
	if len(names) == 1 {
		return "it"
	}
	return "them"
}
