//go:build faults

package faults_test

import (
	"strings"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/faults/oracle"
)

// laterPlans returns plans of F8 and F9 in which somebody else writes after the operator has done what users asked for. Caches are still
// reconciled every second then, because their Secrets are read that often here.
func laterPlans(w *workload, b *baseline) (all []*plan) {
	for _, f := range actors() {
		if f.afterwards == nil || f.not != nil && f.not(w) {
			continue
		}
		for _, call := range b.Calls {
			if !firstApply(call) || !b.keeps(call.Object) {
				continue
			}
			p := &plan{class: f.class, name: f.name + "-later", workload: w, where: call.Object}
			p.later = func(s *scene) error { return f.afterwards(s, s.objectOf(call)) }
			if f.mayRecreate != nil {
				p.mayRecreate = f.mayRecreate(w, call)
			}
			p.mayDiffer = func(field string) bool { return ofScaling(call)(field) || f.mayDiffer(w, call)(field) }
			all = append(all, p)
		}
	}
	if b.hasPods() {
		all = append(all, &plan{
			class: "F9", name: "pods-later", workload: w, where: "pods", mayRecreate: podsAndPulls(w, inject.Call{}), mayDiffer: ofOtherPods(w, inject.Call{}),
			later: func(s *scene) error { s.killPods(); return nil },
		})
	}
	return all
}

// ofScaling matches who owns the fields of a workload. To scale one, the operator writes the subresource scale, and owns the number of pods
// there. When it repairs the object, it owns the number as a field of the object as well.
func ofScaling(c inject.Call) func(field string) bool {
	return func(field string) bool { return isWorkload(c) && field == c.Object+": managers" }
}

// keeps reports whether the operator keeps an object until the end of each run without faults.
func (b *baseline) keeps(key string) bool {
	for _, state := range b.States {
		if !has(state, key+": ") {
			return false
		}
	}
	return !b.foreign(key)
}

// foreign reports whether an object is somebody else's at the end.
func (b *baseline) foreign(key string) bool {
	return has(b.States[0], key+": metadata.labels."+oracle.ForeignLabel)
}

// hasPods reports whether there are pods at the end.
func (b *baseline) hasPods() bool { return has(b.States[0], "pods/") }

func has(state map[string]string, prefix string) bool {
	for field := range state {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return false
}
