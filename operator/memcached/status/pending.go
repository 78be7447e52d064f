package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// updatePending reports the change that waits for approval, and how to approve it. A pending change does not make a cache unready,
// because the user has not asked for it.
func updatePending(memcached *v1alpha1.Memcached, plan desired.Plan) metav1.Condition {
	pending := plan.Pending
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
	why := fmt.Sprintf("A change that this version of the operator brings would lose items, so it waits for approval: %s. ", strings.Join(fields, ", "))
	approve := "To approve it, which replaces the pods one by one"
	if pull := plan.Pull; pull != nil && pull.Failed {
		notPulled := pull.Message + ". The pods keep the image that they have, and the pull is tried again. "
		why += notPulled
		if pull.Alone {
			why = notPulled + "Make the image available to the node. "
			if pull.ByUser {
				why = notPulled + "If the image is wrong, correct spec.image or spec.version. "
			}
			approve = "To stop the pods for it all the same, one at a time, each until the image can be pulled"
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionUpdatePending, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWaitingForRelease,
		Message: fmt.Sprintf("%s: kubectl patch memcached %s -n %s --type=merge -p '{\"spec\":{\"updates\":{\"release\":\"%s\"}}}'",
			why+approve, memcached.Name, memcached.Namespace, pending.ID),
	}
}

// progress returns the progress of an update, which may wait for images. Images that the user has not asked for hold nobody up.
func progress(pull *pending.Pull, made *workload.Progress) *workload.Progress {
	var next workload.Progress
	switch {
	case pull == nil || pull.Failed && !pull.ByUser || made != nil && made.Stuck:
		return made
	case made != nil:
		next = *made
	}
	if next.Stuck = pull.Failed; next.Stuck {
		next.Message = pull.Message
	} else {
		next.Pulling = pull.Message
	}
	return &next
}

// updateStuck reports a rollout that the operator makes and that does not continue by itself.
func updateStuck(w conditions.Workload) (string, string, bool) {
	if w.Update == nil || !w.Update.Stuck {
		return "", "", false
	}
	return v1alpha1.ReasonUpdateStuck, w.Update.Message, true
}
