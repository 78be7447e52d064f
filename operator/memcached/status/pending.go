package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
)

// updatePending reports the change that waits for approval, and how to approve it. A pending change does not make a cache unready,
// because the user has not asked for it.
func updatePending(memcached *v1alpha1.Memcached, pending *v1alpha1.MemcachedPending) metav1.Condition {
	if pending == nil {
		return metav1.Condition{
			Type: v1alpha1.ConditionUpdatePending, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonNothingPending, Message: "No change waits for approval",
		}
	}
	var fields []string
	for _, change := range pending.Changes {
		fields = append(fields, change.Field)
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionUpdatePending, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWaitingForRelease,
		Message: fmt.Sprintf("A change that this version of the operator brings would lose items, so it waits for approval: %s. "+
			"To approve it, which replaces the pods one by one: kubectl patch memcached %s -n %s --type=merge -p '{\"spec\":{\"updates\":{\"release\":\"%s\"}}}'",
			strings.Join(fields, ", "), memcached.Name, memcached.Namespace, pending.ID),
	}
}

// updateStuck reports a rollout that the operator makes and that does not continue by itself.
func updateStuck(w conditions.Workload) (string, string, bool) {
	if w.Update == nil || !w.Update.Stuck {
		return "", "", false
	}
	return v1alpha1.ReasonUpdateStuck, w.Update.Message, true
}
