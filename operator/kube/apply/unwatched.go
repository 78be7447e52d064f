package apply

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// Unwatched reports whether the operator does not watch a kind: Secrets, because the permission to watch those that it makes would be one
// to read all.
func Unwatched(reference owned.Reference) bool {
	return reference.GroupVersionKind == corev1.SchemeGroupVersion.WithKind("Secret")
}

// watched reports whether the operator's cache has the objects of a kind. It has none of kinds without a Go type.
func (a *Applier) watched(reference owned.Reference) bool {
	return a.scheme.Recognizes(reference.GroupVersionKind) && !Unwatched(reference)
}

// appliedAt is when an object was seen to match a configuration with a hash, or was written with it. The hash covers the owner.
type appliedAt struct {
	hash string
	at   time.Time
}

// knownFor returns for how long an object that matched a configuration does not have to be read again; 0 if it has to be now. A caller
// that waits for this duration must not restart its wait when something else happens.
func (a *Applier) knownFor(reference owned.Reference, wanted *unstructured.Unstructured) time.Duration {
	known, found := a.applied.Get(reference)
	applied, _ := known.(appliedAt)
	if !found || applied.hash != wanted.GetAnnotations()[HashAnnotation] {
		return 0
	}
	return max(0, a.recheck-a.Clock.Since(applied.at))
}

func (a *Applier) noteApplied(reference owned.Reference, wanted *unstructured.Unstructured) {
	if Unwatched(reference) {
		a.applied.Set(reference, appliedAt{wanted.GetAnnotations()[HashAnnotation], a.Clock.Now()}, a.recheck)
	}
}
