package workload_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/kube/workload"
)

var now = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

// emitted returns an event that was emitted ago seconds ago.
func emitted(reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-ago * time.Second))}
}

func list(events ...corev1.Event) []corev1.Event { return events }

func TestCreateFailure(t *testing.T) {
	const failed, created = "FailedCreate", "SuccessfulCreate"
	newAPI := corev1.Event{Reason: failed, Message: "quota", EventTime: metav1.NewMicroTime(now.Add(-time.Hour)),
		Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}}
	for name, test := range map[string]struct {
		events []corev1.Event
		want   string
	}{
		"no events":                              {nil, ""},
		"a failure":                              {list(emitted(failed, "quota", 60)), "quota"},
		"the latest of two failures":             {list(emitted(failed, "quota", 60), emitted(failed, "policy", 3600)), "quota"},
		"the controller waits before it retries": {list(emitted(failed, "quota", 1000)), "quota"},
		"an old failure without a retry":         {list(emitted(failed, "quota", 3600)), ""},
		"a pod was created afterwards":           {list(emitted(failed, "quota", 60), emitted(created, "cache-1", 59)), ""},
		"a pod was created before":               {list(emitted(created, "cache-0", 61), emitted(failed, "quota", 60)), "quota"},
		"a pod and a failure at once":            {list(emitted(created, "cache-0", 60), emitted(failed, "quota", 60)), "quota"},
		"two failures at once":                   {list(emitted(failed, "b", 60), emitted(failed, "a", 60)), "a"},
		"two failures at once, in reverse order": {list(emitted(failed, "a", 60), emitted(failed, "b", 60)), "a"},
		"an event of another reason":             {list(emitted("FailedDelete", "denied", 60)), ""},
		"a repeated event of the newer API":      {list(newAPI), "quota"},
	} {
		if got := workload.CreateFailure(test.events, now); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
