package olmcondition

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Tracker stores the objects whose pods are being replaced. It is safe for concurrent use.
type Tracker struct {
	mutex    sync.Mutex
	rollouts sets.Set[Object]
	changed  chan struct{}
}

// NewTracker returns an empty Tracker.
func NewTracker() *Tracker {
	return &Tracker{rollouts: sets.New[Object](), changed: make(chan struct{}, 1)}
}

// Begin records the rollout of an object.
func (t *Tracker) Begin(object Object) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !t.rollouts.Has(object) {
		t.rollouts.Insert(object)
		t.signal()
	}
}

// End removes the rollout of an object, if there is one.
func (t *Tracker) End(object Object) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.rollouts.Has(object) {
		t.rollouts.Delete(object)
		t.signal()
	}
}

// Rollouts returns the objects whose pods are being replaced, in no particular order.
func (t *Tracker) Rollouts() []Object {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.rollouts.UnsortedList()
}

// Changed returns a channel that receives after changes; several changes may cause one signal. It is for one receiver.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// signal never blocks: a signal that has not been received yet covers this change as well.
func (t *Tracker) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
