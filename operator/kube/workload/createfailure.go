package workload

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// failureAge is how long the last FailedCreate event counts. The StatefulSet controller retries after 1000 seconds at
// the latest, and emits an event each time, or every five minutes if it has emitted many: while a failure lasts, its
// last event is never older.
const failureAge = 20 * time.Minute

// CreateFailure returns why the StatefulSet controller could not create a pod in its last attempt, empty if it could or
// there was no recent attempt. events are the events about one StatefulSet, of any reason. Events exist for up to an
// hour, so a failure ends with the first pod that is created after it; otherwise an old failure would reappear when a
// pod is replaced.
func CreateFailure(events []corev1.Event, now time.Time) string {
	var failed, created *corev1.Event
	for i := range events {
		switch event := &events[i]; event.Reason {
		case "FailedCreate":
			failed = newer(failed, event)
		case "SuccessfulCreate":
			created = newer(created, event)
		}
	}
	if failed == nil || now.Sub(emittedAt(failed)) > failureAge ||
		created != nil && emittedAt(created).After(emittedAt(failed)) {
		return ""
	}
	return failed.Message
}

// newer returns the later event. For two events of the same second the result does not depend on the order, so that
// messages are stable.
func newer(a, b *corev1.Event) *corev1.Event {
	if a == nil || emittedAt(b).After(emittedAt(a)) || emittedAt(b).Equal(emittedAt(a)) && b.Message < a.Message {
		return b
	}
	return a
}

// emittedAt returns the time at which an event was last emitted, by either of the two event APIs.
func emittedAt(event *corev1.Event) time.Time {
	times := []time.Time{event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		times = append(times, event.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}
