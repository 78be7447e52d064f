package scenario

import (
	"context"
	"fmt"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// ResyncCalls is the workload in which nothing has to be written.
const ResyncCalls = "calls in a resync"

// group are the custom resources of a kind in a namespace of their own, so that their requests can be told from those of others.
type group struct {
	kind      workload.Kind
	namespace string
	resources []workload.Resource
}

// phase is something that happens to all custom resources of a group.
type phase struct {
	name string
	do   func(context.Context, group) error
}

// Counts counts the requests for custom resources of all kinds: when they are created, get one more pod, and are reconciled again as in a
// resync. There are only a few of each, so that none takes as long to start as would cost another write of its status.
func (b *Bench) Counts(ctx context.Context, kinds []workload.Kind, size int) ([]figures.Result, error) {
	operator, err := b.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	defer operator.Stop()
	groups, err := b.groups(ctx, kinds, size)
	if err != nil {
		return nil, err
	}
	before, err := operator.Usage()
	if err != nil {
		return nil, err
	}
	var results []figures.Result
	for _, phase := range []phase{
		{"calls for a new resource", func(ctx context.Context, g group) error { return b.ready(ctx, g.resources) }},
		{"calls for one more pod", b.grow},
		{ResyncCalls, func(ctx context.Context, g group) error { return b.touch(ctx, g.resources) }}, // They are reconciled while it waits.
	} {
		b.say("counting %s", phase.name)
		for _, group := range groups {
			if err := phase.do(ctx, group); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", phase.name, group.kind.Name, err)
			}
		}
		after, err := settled(ctx, operator)
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			round := Round{Count: size, Settled: after.Minus(before).In(group.namespace)}
			results = append(results, figures.Result{Workload: phase.name, Kind: group.kind.Name, Size: size, Figures: round.counts()})
		}
		before = after
	}
	operator.Stop()
	for _, group := range groups {
		if err := b.empty(ctx, group.namespace); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// groups prepares a group of each kind, and warms the operator up.
func (b *Bench) groups(ctx context.Context, kinds []workload.Kind, size int) ([]group, error) {
	var groups []group
	for _, kind := range kinds {
		if err := b.warmUp(ctx, kind); err != nil {
			return nil, err
		}
		namespace, err := b.newNamespace(ctx)
		if err != nil {
			return nil, err
		}
		resources, err := b.resources(ctx, kind, namespace, 0, size)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group{kind, namespace, resources})
	}
	return groups, nil
}

// counts returns the figures that say how many requests were made.
func (r Round) counts() []figures.Figure {
	return append([]figures.Figure{
		{Name: Reads, Better: figures.Lower, Rounds: []float64{r.per(r.Settled.Total(child.Read))}},
		{Name: Writes, Better: figures.Lower, Rounds: []float64{r.per(r.Settled.Total(child.Write))}},
	}, calls([]Round{r})...)
}

// grow gives all custom resources of a group one more pod.
func (b *Bench) grow(ctx context.Context, g group) error {
	err := each(ctx, g.resources, func(ctx context.Context, resource workload.Resource) error {
		return b.Server.Client.Patch(ctx, resource, g.kind.Scale(1))
	})
	if err != nil {
		return err
	}
	return b.tracker.await(ctx, keysOf(g.resources), 2)
}
