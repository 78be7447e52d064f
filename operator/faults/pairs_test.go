//go:build faults

package faults_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/example/memcached-operator/operator/faults/inject"
)

// pairsOfAWorkload is how many pairs of faults each workload meets.
const pairsOfAWorkload = 20

// place is a fault at a request.
type place struct {
	fault fault
	call  inject.Call
}

// rank orders the places of a workload at random, in another way for each number, and always in the same one for the same number. It depends on
// nothing but names: another run of the workload may have a request more or less, and still has the other pairs.
func (p place) rank(w *workload, number int) uint64 {
	return rand.NewPCG(hash(fmt.Sprint(w.name, p.fault.class, p.fault.name, p.call)), uint64(number)).Uint64()
}

// pairs returns F10: two faults at different requests, the same pairs each time. Those that change what is expected are not among them.
func pairs(w *workload, b *baseline) (all []*plan) {
	var places []place
	for _, f := range allFaults() {
		for _, call := range b.Calls {
			if f.mayDiffer == nil && f.mayRecreate == nil && !f.overrides && f.applies(call) {
				places = append(places, place{f, call})
			}
		}
	}
	for number := range pairsOfAWorkload {
		byRank := func(a, b place) int { return cmp.Compare(a.rank(w, number), b.rank(w, number)) }
		first := slices.MinFunc(places, byRank)
		second := slices.MinFunc(slices.DeleteFunc(slices.Clone(places), func(p place) bool { return p.call == first.call }), byRank)
		all = append(all, &plan{
			class: "F10", name: first.fault.name + "+" + second.fault.name, workload: w, where: first.call.String() + "+" + second.call.String(),
			arm: func(s *scene) func() int {
				one, other := first.fault.arm(s, first.call), second.fault.arm(s, second.call)
				return func() int { return min(one(), other()) }
			},
		})
	}
	return all
}
