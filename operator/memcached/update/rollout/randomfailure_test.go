package rollout_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// mishap makes something go wrong that the operator has no part in.
func (s *randomRun) failAtRandom() {
	for _, name := range sortedNames(s.pods) {
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

func sortedNames(of map[string]*corev1.Pod) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
