package olmcondition

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// patience is how long reconciles of an object may be inconclusive before an upgrade no longer waits for it: whatever the
// cause is, it does not resolve by itself, and the upgrade may fix it.
const patience = 5 * time.Minute

// Tracker stores what reconciles have found out about rollouts. It is safe for concurrent use.
type Tracker struct {
	clock   clock.PassiveClock
	mutex   sync.Mutex
	objects map[Object]finding
	listed  bool
	changed chan struct{}
}

// finding is what is known about an object.
type finding struct {
	// expected is true until the first conclusive reconcile of an object that existed when the operator started.
	expected bool

	// rollout is true while the operator itself replaces the object's pods.
	rollout bool

	// ends is when an upgrade no longer waits for the rollout, because the user has to act; zero for never.
	ends time.Time

	// inconclusive is since when reconciles have been inconclusive, zero if the last one was not.
	inconclusive time.Time
}

// NewTracker returns a Tracker that knows no object.
func NewTracker(clock clock.PassiveClock) *Tracker {
	return &Tracker{clock: clock, objects: map[Object]finding{}, changed: make(chan struct{}, 1)}
}

// Expect names the objects that exist. In the first call, these are the ones whose first conclusive reconcile an upgrade waits for.
// Later calls forget those that have been deleted since, which nothing may ever reconcile. It sends no signal.
func (t *Tracker) Expect(objects []Object) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	existing := map[Object]bool{}
	for _, object := range objects {
		existing[object] = true
		if found, known := t.objects[object]; !t.listed && (!known || !found.inconclusive.IsZero()) {
			found.expected = true
			t.objects[object] = found
		}
	}
	for object, found := range t.objects {
		if found.expected && !existing[object] {
			delete(t.objects, object)
		}
	}
	t.listed = true
}

// Assessed stores the result of a conclusive reconcile: whether the operator itself replaces the object's pods, and when an
// upgrade no longer waits for that; zero for never.
func (t *Tracker) Assessed(object Object, rollout bool, ends time.Time) {
	t.update(object, func(finding) finding { return finding{rollout: rollout, ends: ends} })
}

// Inconclusive notes a reconcile that did not see the current state. What is known stays, for five minutes at most. With rollout,
// the objects that it did see say that the operator replaces pods.
func (t *Tracker) Inconclusive(object Object, rollout bool) {
	t.update(object, func(found finding) finding {
		if found.inconclusive.IsZero() {
			found.inconclusive = t.clock.Now()
		}
		if rollout {
			found.rollout, found.ends = true, time.Time{}
		}
		return found
	})
}

// Gone forgets an object that does not exist any more.
func (t *Tracker) Gone(object Object) {
	t.update(object, func(finding) finding { return finding{} })
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.objects, object)
}

// Findings returns what an upgrade should wait for now.
func (t *Tracker) Findings() Findings {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now, findings := t.clock.Now(), Findings{Listed: t.listed}
	for object, found := range t.objects {
		switch rollout, expected := found.blocks(now); {
		case rollout:
			findings.Rollouts = append(findings.Rollouts, object)
		case expected:
			findings.NotAssessed = append(findings.NotAssessed, object)
		}
	}
	slices.SortFunc(findings.Rollouts, Object.compare)
	slices.SortFunc(findings.NotAssessed, Object.compare)
	return findings
}

// Changed returns a channel that receives after changes; several changes may cause one signal. It is for one receiver. There is no
// signal when a time has passed.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// update changes what is known about an object.
func (t *Tracker) update(object Object, change func(finding) finding) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now, before := t.clock.Now(), t.objects[object]
	after := change(before)
	t.objects[object] = after
	rolloutBefore, expectedBefore := before.blocks(now)
	if rollout, expected := after.blocks(now); rollout != rolloutBefore || expected != expectedBefore {
		t.signal()
	}
}

// blocks tells whether an upgrade waits for a rollout of the object, or for its first conclusive reconcile.
func (f finding) blocks(now time.Time) (rollout, expected bool) {
	if !f.inconclusive.IsZero() && now.Sub(f.inconclusive) >= patience {
		return false, false
	}
	return f.rollout && (f.ends.IsZero() || now.Before(f.ends)), f.expected
}

// signal never blocks: a signal that has not been received yet covers this change as well.
func (t *Tracker) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
