package olmcondition

import "sync"

// Tracker stores the work in progress, at most one entry per object. It is safe for concurrent use.
type Tracker struct {
	mutex   sync.Mutex
	work    map[Object]string
	changed chan struct{}
}

// NewTracker returns an empty Tracker.
func NewTracker() *Tracker {
	return &Tracker{work: map[Object]string{}, changed: make(chan struct{}, 1)}
}

// Begin records work for an object.
func (t *Tracker) Begin(work Work) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.work[work.Object] != work.Reason {
		t.work[work.Object] = work.Reason
		t.signal()
	}
}

// End removes the work of an object, if there is any.
func (t *Tracker) End(object Object) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if _, found := t.work[object]; found {
		delete(t.work, object)
		t.signal()
	}
}

// Facts returns the work in progress, in no particular order.
func (t *Tracker) Facts() Facts {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var facts Facts
	for object, reason := range t.work {
		facts.Work = append(facts.Work, Work{Object: object, Reason: reason})
	}
	return facts
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
