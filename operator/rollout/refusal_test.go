package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/rollout"
)

var now = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

// told returns an event of so long ago.
func told(reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(-ago))}
}

func TestARefusalIsThatOfNow(t *testing.T) {
	const failed, created = "FailedCreate", "SuccessfulCreate"
	newAPI := corev1.Event{Reason: failed, Message: "quota", EventTime: metav1.NewMicroTime(now.Add(-time.Hour)),
		Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now.Add(-time.Minute))}}
	for name, test := range map[string]struct {
		events []corev1.Event
		want   string
	}{
		"nothing was told":                    {nil, ""},
		"a refusal":                           {[]corev1.Event{told(failed, "quota", time.Minute)}, "quota"},
		"the newest of them":                  {[]corev1.Event{told(failed, "quota", time.Minute), told(failed, "policy", time.Hour)}, "quota"},
		"the controller waits before it goes": {[]corev1.Event{told(failed, "quota", 1000*time.Second)}, "quota"},
		"it would have tried again":           {[]corev1.Event{told(failed, "quota", time.Hour)}, ""},
		"a pod has come since":                {[]corev1.Event{told(failed, "quota", time.Minute), told(created, "cache-1", 59*time.Second)}, ""},
		"a pod had come before":               {[]corev1.Event{told(created, "cache-0", 61*time.Second), told(failed, "quota", time.Minute)}, "quota"},
		"one came, the next did not":          {[]corev1.Event{told(created, "cache-0", time.Minute), told(failed, "quota", time.Minute)}, "quota"},
		"two at once":                         {[]corev1.Event{told(failed, "b", time.Minute), told(failed, "a", time.Minute)}, "a"},
		"two at once, the other way round":    {[]corev1.Event{told(failed, "a", time.Minute), told(failed, "b", time.Minute)}, "a"},
		"another failure":                     {[]corev1.Event{told("FailedDelete", "denied", time.Minute)}, ""},
		"one of the newer API, repeated":      {[]corev1.Event{newAPI}, "quota"},
	} {
		if got := rollout.Refusal(test.events, now); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
