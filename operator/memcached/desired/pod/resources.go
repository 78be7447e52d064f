package pod

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

const (
	// memory is both requested and the limit, so that a pod is never evicted for using what it may use. memcached with
	// -m 64 full of small items was measured at 76.7 MB; the rest is for connections, threads and a burst of large
	// requests.
	memory = "128Mi"

	// memoryWithTLS is the same with TLS, of which each of 1024 connections takes 80 KiB.
	memoryWithTLS = "256Mi"

	// cpuRequest is what an idle to moderately used memcached needs.
	cpuRequest = "50m"

	// cpuLimit exists because namespaces with a quota on limits.cpu refuse pods without one. memcached is throttled only
	// when it uses a whole CPU, which is some hundred thousand requests a second.
	cpuLimit = "1"
)

// resources are what a container requests and may use.
type resources struct {
	requests, limits corev1.ResourceList
}

// resourcesOf returns what the user asked for, and what is missing of CPU and memory.
func resourcesOf(asked corev1.ResourceRequirements, tls bool) resources {
	memory := resource.MustParse(memory)
	if tls {
		memory = resource.MustParse(memoryWithTLS)
	}
	r := resources{requests: corev1.ResourceList{}, limits: corev1.ResourceList{}}
	maps.Copy(r.requests, asked.Requests)
	maps.Copy(r.limits, asked.Limits)
	complete(r, corev1.ResourceMemory, memory, memory)
	complete(r, corev1.ResourceCPU, resource.MustParse(cpuRequest), resource.MustParse(cpuLimit))
	return r
}

// complete fills in what is missing: a limit is at least what is requested, and a request at most what is the limit.
// Memory is requested in full.
func complete(r resources, name corev1.ResourceName, request, limit resource.Quantity) {
	asked, hasRequest := r.requests[name]
	bound, hasLimit := r.limits[name]
	switch {
	case hasRequest && !hasLimit:
		r.limits[name] = limit
		if asked.Cmp(limit) > 0 {
			r.limits[name] = asked
		}
	case hasLimit && !hasRequest:
		r.requests[name] = request
		if name == corev1.ResourceMemory || bound.Cmp(request) < 0 {
			r.requests[name] = bound
		}
	case !hasRequest && !hasLimit:
		r.requests[name], r.limits[name] = request, limit
	}
}

func (r resources) configuration() *corev1ac.ResourceRequirementsApplyConfiguration {
	return corev1ac.ResourceRequirements().WithRequests(r.requests).WithLimits(r.limits)
}

// bytes returns a quantity in bytes, 0 for none.
func bytes(quantity *resource.Quantity) int64 {
	if quantity == nil {
		return 0
	}
	return quantity.Value()
}
