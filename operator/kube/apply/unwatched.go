package apply

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// Unwatched reports whether the operator does not watch a kind: Secrets, because the permission to watch those that it makes would be one
// to read all.
func Unwatched(reference owned.Reference) bool {
	return reference.GroupVersionKind == corev1.SchemeGroupVersion.WithKind("Secret")
}

// knowsApplied reports whether an object was seen to match a configuration, or was written with it, not longer ago than recheck. The hash
// of the configuration covers its owner.
func (a *Applier) knowsApplied(reference owned.Reference, wanted *unstructured.Unstructured) bool {
	hash, found := a.applied.Get(reference)
	return found && hash == wanted.GetAnnotations()[HashAnnotation]
}

func (a *Applier) noteApplied(reference owned.Reference, wanted *unstructured.Unstructured) {
	if Unwatched(reference) {
		a.applied.Set(reference, wanted.GetAnnotations()[HashAnnotation], a.recheck)
	}
}
