package rollout

import (
	"fmt"

	"github.com/example/memcached-operator/operator/kube/pods"
)

// gate waits until the pods that were replaced have filled up again, if the user asks for that.
func (p *planner) gate(m *member) *Step {
	if p.Gate == nil {
		return nil
	}
	wanted, known := p.wantedHitRatio()
	if !known {
		return nil
	}
	for _, replaced := range p.members {
		left := p.Gate.Timeout - p.Now.Sub(pods.ReadinessSince(replaced.pod))
		if !replaced.upToDate(p.revision) || left <= 0 || replaced.filled(wanted) {
			continue
		}
		message := fmt.Sprintf("%[1]s is replaced when the hit ratio of %[2]s is %[3]d %% of that of the pods not replaced yet, "+
			"or when %[2]s has been ready for %[4]s", m.name(), replaced.name(), p.Gate.RecoveredPercent, p.Gate.Timeout)
		return &Step{Kind: Wait, Pod: replaced.pod, Message: message, After: min(left, later)}
	}
	return nil
}

// wantedHitRatio returns the hit ratio that replaced pods have to reach, from 0 to 1. It is unknown if the pods not replaced yet
// get no requests.
func (p *planner) wantedHitRatio() (float64, bool) {
	var sum, count float64
	for _, m := range p.outdated() {
		if m.agent != nil && m.agent.HitRatio != nil {
			sum, count = sum+*m.agent.HitRatio, count+1
		}
	}
	return sum / max(count, 1) * float64(p.Gate.RecoveredPercent) / 100, count > 0
}

// filled reports whether a pod has reached a hit ratio.
func (m *member) filled(wanted float64) bool {
	return m.agent != nil && m.agent.HitRatio != nil && *m.agent.HitRatio >= wanted
}
