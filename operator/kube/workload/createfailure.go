package workload

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// failureAge is for how long the last word about new pods counts. The StatefulSet controller tries again after 1000
// seconds at the latest, and tells of it each time, or once in five minutes when it has told much already: the last
// word about a refusal that lasts is never older.
const failureAge = 20 * time.Minute

// CreateFailure returns why the StatefulSet controller could not create a pod when it last tried, empty if it could or has
// not tried of late. events are those about one StatefulSet, of any reason. They outlive by an hour what they tell of,
// so a refusal ends with the first pod that is created after it: an old one must not come back when a pod is replaced.
func CreateFailure(events []corev1.Event, now time.Time) string {
	var refused, created *corev1.Event
	for i := range events {
		switch event := &events[i]; event.Reason {
		case "FailedCreate":
			refused = newer(refused, event)
		case "SuccessfulCreate":
			created = newer(created, event)
		}
	}
	if refused == nil || now.Sub(toldAt(refused)) > failureAge ||
		created != nil && toldAt(created).After(toldAt(refused)) {
		return ""
	}
	return refused.Message
}

// newer returns the event that was told later. Of two of the same second it is always the same one, so that messages
// stay as they are.
func newer(a, b *corev1.Event) *corev1.Event {
	if a == nil || toldAt(b).After(toldAt(a)) || toldAt(b).Equal(toldAt(a)) && b.Message < a.Message {
		return b
	}
	return a
}

// toldAt returns when an event was last told, whichever of the two event APIs it was told by.
func toldAt(event *corev1.Event) time.Time {
	times := []time.Time{event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		times = append(times, event.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}
