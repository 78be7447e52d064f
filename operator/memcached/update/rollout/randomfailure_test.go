package rollout_test

import (
	"maps"
	"slices"
)

// failAtRandom makes something fail without the operator.
func (s *randomRun) failAtRandom() {
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod, m := s.pods[name], s.simulated[name]
		switch {
		case !s.chance(2):
		case s.chance(20):
			delete(s.pods, name)
		case s.chance(50) && m.images["memcached"] != "":
			s.stop(pod, m, "memcached", false)
			s.changed(pod)
		case s.agentBroken && s.chance(70):
			m.agentBroken = !m.agentBroken
			s.probe(pod, m)
			s.changed(pod)
		default:
			m.memcachedBroken = !m.memcachedBroken
			if m.memcachedBroken {
				statusOf(pod, "memcached").Ready = false
				setReady(pod, false, s.now)
				s.changed(pod)
			}
		}
	}
}
