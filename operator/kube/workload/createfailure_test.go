package workload_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/kube/workload"
)

var now = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

// told returns an event of so many seconds ago.
func told(reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-ago * time.Second))}
}

func list(events ...corev1.Event) []corev1.Event { return events }

func TestARefusalIsThatOfNow(t *testing.T) {
	const failed, created = "FailedCreate", "SuccessfulCreate"
	newAPI := corev1.Event{Reason: failed, Message: "quota", EventTime: metav1.NewMicroTime(now.Add(-time.Hour)),
		Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}}
	for name, test := range map[string]struct {
		events []corev1.Event
		want   string
	}{
		"nothing was told":                    {nil, ""},
		"a refusal":                           {list(told(failed, "quota", 60)), "quota"},
		"the newest of them":                  {list(told(failed, "quota", 60), told(failed, "policy", 3600)), "quota"},
		"the controller waits before it goes": {list(told(failed, "quota", 1000)), "quota"},
		"it would have tried again":           {list(told(failed, "quota", 3600)), ""},
		"a pod has come since":                {list(told(failed, "quota", 60), told(created, "cache-1", 59)), ""},
		"a pod had come before":               {list(told(created, "cache-0", 61), told(failed, "quota", 60)), "quota"},
		"one came, the next did not":          {list(told(created, "cache-0", 60), told(failed, "quota", 60)), "quota"},
		"two at once":                         {list(told(failed, "b", 60), told(failed, "a", 60)), "a"},
		"two at once, the other way round":    {list(told(failed, "a", 60), told(failed, "b", 60)), "a"},
		"another failure":                     {list(told("FailedDelete", "denied", 60)), ""},
		"one of the newer API, repeated":      {list(newAPI), "quota"},
	} {
		if got := workload.CreateFailure(test.events, now); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
