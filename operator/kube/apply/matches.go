package apply

import (
	"encoding/json"
	"hash/maphash"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
)

// maxMatches is how many objects are remembered: more than all that 10,000 caches own. Afterwards each object is compared once more.
const maxMatches = 1 << 17

// matches remembers which objects were seen to match their configuration, because the comparison is most of what a reconcile computes when
// nothing has changed. It keeps 16 bytes for each object.
type matches struct {
	seed maphash.Seed
	lock sync.Mutex
	seen map[uint64]uint64 // The fingerprint of the last match by the hash of the reference.
}

func newMatches() *matches {
	return &matches{seed: maphash.MakeSeed(), seen: map[uint64]uint64{}}
}

// fingerprint returns a number that changes with an encoded configuration, and with every part of an object that it can be compared with.
func (m *matches) fingerprint(encoded []byte, object client.Object) uint64 {
	var hash maphash.Hash
	hash.SetSeed(m.seed)
	_, _ = hash.Write(encoded)
	_, _ = hash.WriteString(string(object.GetUID()))
	if !countsChanges(object) {
		_, _ = hash.WriteString(object.GetResourceVersion())
		return hash.Sum64()
	}
	// The generation changes with the spec only, the resourceVersion with every status.
	_ = json.NewEncoder(&hash).Encode(struct {
		Generation          int64
		Labels, Annotations map[string]string
		Owners              []metav1.OwnerReference
	}{object.GetGeneration(), object.GetLabels(), object.GetAnnotations(), object.GetOwnerReferences()})
	return hash.Sum64()
}

// countsChanges tells whether the API server gives an object another generation whenever its spec changes. Of other kinds, the generation
// is what a client once set.
func countsChanges(object client.Object) bool {
	switch object.(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet, *networkingv1.Ingress, *networkingv1.NetworkPolicy, *policyv1.PodDisruptionBudget:
		return true
	}
	return false
}

// remember notes that an object was seen to match.
func (m *matches) remember(reference owned.Reference, fingerprint uint64) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if len(m.seen) >= maxMatches {
		clear(m.seen)
	}
	m.seen[maphash.Comparable(m.seed, reference)] = fingerprint
}

// include reports whether the object was last seen to match with this fingerprint.
func (m *matches) include(reference owned.Reference, fingerprint uint64) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	last, found := m.seen[maphash.Comparable(m.seed, reference)]
	return found && last == fingerprint
}
