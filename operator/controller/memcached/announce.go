package memcached

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
)

// maxFieldsNamed keeps the note of an event readable, and below the 1024 characters that the API allows.
const maxFieldsNamed = 5

// announce tells what has happened, in the log and in events. It is called after the status was written, with the
// status as it was before and as it is now, so that nothing is told twice when a pass is repeated.
func (r *Reconciler) announce(
	ctx context.Context, memcached *v1alpha1.Memcached, next v1alpha1.MemcachedStatus, changes []apply.Change,
) {
	logger := log.FromContext(ctx)
	for _, change := range changes {
		logger := logger.WithValues("object", change.Object.Name)
		if len(change.Fields) > 0 {
			logger = logger.WithValues("fields", named(change.Fields))
		}
		logger.Info(string(change.Action) + " " + change.Object.Kind)
		if change.Action == apply.Repaired {
			r.Recorder.Eventf(memcached, corev1.EventTypeWarning, v1alpha1.EventDriftRepaired,
				"%s %s was changed by somebody else and has been put back: %s",
				change.Object.Kind, change.Object.Name, named(change.Fields))
		}
	}
	before := apimeta.FindStatusCondition(memcached.Status.Conditions, v1alpha1.ConditionReady)
	now := apimeta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if before != nil && before.Reason == now.Reason {
		return
	}
	logger.Info("Ready is "+string(now.Status), "reason", now.Reason, "message", now.Message)
	if now.Reason == v1alpha1.ReasonNameConflict || now.Reason == v1alpha1.ReasonRejected {
		r.Recorder.Event(memcached, corev1.EventTypeWarning, now.Reason, now.Message)
	}
}

// named returns the first few paths, and how many more there are.
func named(paths []string) string {
	if more := len(paths) - maxFieldsNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxFieldsNamed], ", "), more)
	}
	return strings.Join(paths, ", ")
}
