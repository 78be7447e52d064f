//go:build faults

package faults_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/faults/oracle"
)

// steps is how many changes a sequence has.
const steps = 6

// soon is the time after a change within which the operator crashes.
const soon = time.Second

// forgotten is how long a PodDisruptionBudget counts a pod as evicted, and allows no other eviction, if a crash has interrupted the eviction:
// DeletionTimeout of Kubernetes' disruption controller.
const forgotten = 2 * time.Minute

// testSequence changes the spec at random, and does not always wait. After some changes the operator crashes, and another process goes on. A
// spec that asks for something impossible is refused, and everything is as in the beginning once nothing of it is left.
func (o *operand) testSequence(t *testing.T, f *feed, n uint64) {
	random := rand.New(rand.NewPCG(hash(o.name), n))
	s := o.begin(t, f, o.settled)
	before, given, limit := s.history.State(s.namespace), changes{}, patience
	for range steps {
		for range 1 + random.IntN(3) {
			o.changeOne(t, s, given, random)
		}
		spec, err := o.with(s, given.all()...)
		if err == nil {
			err = o.change(s, spec)
		}
		if random.IntN(3) == 0 {
			s.later(time.Duration(random.Int64N(int64(soon))), s.crash)
			limit = patience + forgotten
		}
		if err == nil && random.IntN(2) == 0 {
			if err = s.within(limit, o.settledOrRefused(s, spec)); err == nil {
				s.history.Forget()
			}
		}
		if err != nil {
			t.Fatalf("O5: %v: %v\n%s", given.all(), err, s.summary())
		}
	}
	spec, err := o.with(s, given.all()...)
	if err == nil {
		err = s.await((*scene).isOver)
	}
	if err == nil {
		err = s.within(limit, o.settledOrRefused(s, spec))
	}
	if err != nil {
		t.Fatalf("O5: %v: %v\n%s", given.all(), err, s.summary())
	}
	refusal := o.message(s, "Degraded", "True")
	if refusal == "" {
		o.isAsCreated(t, f, s, o.settled, given.all()...)
		return
	}
	o.begin(t, f, o.says(refusal), given.all()...).end()
	if spec, err = o.with(s); err == nil {
		err = errors.Join(o.change(s, spec), s.within(limit, o.settled(s, spec)))
	}
	if err != nil {
		t.Fatalf("O6: back from %v: %v\n%s", given.all(), err, s.summary())
	}
	s.becomes(fmt.Sprintf("O6: back from %v", given.all()), func() oracle.State { return before })
}

// changes are the values that fields were given, by field.
type changes map[string]string

// all returns the values, always in the same order.
func (c changes) all() (all []string) {
	for _, path := range slices.Sorted(maps.Keys(c)) {
		all = append(all, c[path])
	}
	return all
}

// changeOne gives a field another value, or none. Values that the API server refuses together with the others are left out.
func (o *operand) changeOne(t *testing.T, s *scene, given changes, random *rand.Rand) {
	t.Helper()
	field := o.fields[random.IntN(len(o.fields))]
	good := slices.DeleteFunc(slices.Clone(field.good), func(v value) bool { return v.says != "" })
	before, was := given[field.path]
	delete(given, field.path)
	if len(good) > 0 && random.IntN(4) > 0 {
		given[field.path] = good[random.IntN(len(good))].spec
	}
	spec, err := o.with(s, given.all()...)
	if err != nil {
		t.Fatal(err)
	}
	if o.accepts(s, spec) {
		return
	}
	if delete(given, field.path); was {
		given[field.path] = before
	}
}

// settledOrRefused is the end of a change that may ask for something impossible.
func (o *operand) settledOrRefused(s *scene, spec map[string]any) func(*scene) error {
	settled, refused := o.settled(s, spec), o.says("spec.")(s, spec)
	return func(s *scene) error {
		err := settled(s)
		if refused(s) == nil {
			return nil
		}
		return err
	}
}
