package rollout

import (
	"fmt"

	"github.com/example/memcached-operator/operator/kube/pods"
)

// gate waits, if asked to, until the pods that have been replaced have filled up again.
func (r *planner) gate(n *member) (Step, bool) {
	if r.Gate == nil {
		return Step{}, false
	}
	wanted, known := r.recovered()
	if !known {
		return Step{}, false
	}
	for _, before := range r.pods {
		left := r.Gate.Timeout - r.Now.Sub(pods.ReadinessSince(before.pod))
		if !before.done(r.revision) || left <= 0 || before.filled(wanted) {
			continue
		}
		why := fmt.Sprintf("%s follows when the hit ratio of %s is %d %% of that of the nodes to follow, "+
			"or when it has been ready for %s", n.name(), before.name(), r.Gate.RecoveredPercent, r.Gate.Timeout)
		return Step{Kind: Wait, Pod: before.pod, Message: why, After: min(left, later)}, true
	}
	return Step{}, false
}

// recovered returns the hit ratio that replaced pods have to reach, from 0 to 1. It is not known if those that are still to
// follow have no requests.
func (r *planner) recovered() (float64, bool) {
	var sum, count float64
	for _, n := range r.outdated() {
		if n.agent != nil && n.agent.HitRatio != nil {
			sum, count = sum+*n.agent.HitRatio, count+1
		}
	}
	if count == 0 {
		return 0, false
	}
	return sum / count * float64(r.Gate.RecoveredPercent) / 100, true
}

// filled tells whether a pod has the hit ratio.
func (n *member) filled(wanted float64) bool {
	return n.agent != nil && n.agent.HitRatio != nil && *n.agent.HitRatio >= wanted
}
