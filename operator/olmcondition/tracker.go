package olmcondition

import "sync"

// Tracker remembers what is under way: one piece of work for an object at most. It may be used by any number of
// goroutines.
type Tracker struct {
	mutex   sync.Mutex
	work    map[Object]string
	changed chan struct{}
}

// NewTracker returns a Tracker that knows of nothing.
func NewTracker() *Tracker {
	return &Tracker{work: map[Object]string{}, changed: make(chan struct{}, 1)}
}

// Begin notes that work for an object is under way, and why.
func (t *Tracker) Begin(work Work) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.work[work.Object] != work.Reason {
		t.work[work.Object] = work.Reason
		t.signal()
	}
}

// End notes that nothing is under way for an object any more. It does nothing if there was nothing.
func (t *Tracker) End(object Object) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if _, found := t.work[object]; found {
		delete(t.work, object)
		t.signal()
	}
}

// Facts returns what is under way, in no particular order.
func (t *Tracker) Facts() Facts {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var facts Facts
	for object, reason := range t.work {
		facts.Work = append(facts.Work, Work{Object: object, Reason: reason})
	}
	return facts
}

// Changed receives after changes, once for all since the last receipt. It is for one receiver.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// signal never waits: a signal that has not been received yet stands for this change too.
func (t *Tracker) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
