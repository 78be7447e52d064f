package pending

import (
	"cmp"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// compare compares two templates of the workload.
func (i Input) compare(from, to *Template) ([]diff.Change, diff.Class) {
	workload := diff.Deployment
	if inputs.StablePods(i.Spec) {
		workload = diff.StatefulSet
	}
	given, errGiven := read(workload, from)
	wanted, errWanted := read(workload, to)
	if err := cmp.Or(errGiven, errWanted); err != nil {
		return unreadable(err), diff.Cold
	}
	given.Version = cmp.Or(given.Version, i.Version(given.Image))
	wanted.Version = cmp.Or(wanted.Version, i.Version(wanted.Image))
	return diff.Compare(given, wanted, i.Features)
}

// read returns the state of pods with a template.
func read(workload diff.Workload, template *Template) (diff.State, error) {
	return diff.Read(workload, owned.Convert[corev1.PodTemplateSpec](template))
}

// unreadable is the change for a template that somebody else or a later version of the operator wrote.
func unreadable(err error) []diff.Change {
	return []diff.Change{{Field: "template", Class: diff.Cold,
		Reason: "The given template cannot be compared with the wanted one (" + err.Error() + "), so the items count as lost."}}
}

// same reports whether two specs ask for the same pods.
func same(a, b v1alpha1.MemcachedSpec) bool {
	left, errLeft := json.Marshal(ForPods(a))
	right, errRight := json.Marshal(ForPods(b))
	return errLeft == nil && errRight == nil && string(left) == string(right)
}

// ForPods returns the part of a spec that the pod template is rendered from.
func ForPods(spec v1alpha1.MemcachedSpec) v1alpha1.MemcachedSpec {
	part := *spec.DeepCopy()
	part.Size = 0
	part.Updates, part.HitRatioGate, part.Service, part.Disruption, part.NetworkPolicy = nil, nil, nil, nil, nil
	if part.Monitoring != nil {
		part.Monitoring = &v1alpha1.MemcachedMonitoring{}
	}
	return part
}
