package main

import (
	"context"
	"errors"
	"slices"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/scenario"
)

var (
	allKinds = []string{"deployment", "statefulset", "application"}
	caches   = []string{"deployment"}
)

// usual is the number of pods that each kind usually has.
const usual = -1

// workloads are all that can be measured, in the order of the report.
func workloads() []one {
	thousand := []int{1000}
	return []one{
		{
			"burst", "Create many custom resources at once, beside the bare client",
			settings{kinds: allKinds, sizes: []int{100, 1000, 5000}, rounds: 5, pods: usual}, paired("burst", (*scenario.Bench).Burst),
		}, {
			"scale", "Give all custom resources one more pod at once, beside the bare client",
			settings{kinds: allKinds, sizes: thousand, rounds: 5, pods: usual}, paired("scale", (*scenario.Bench).Scale),
		}, {
			"lifecycle", "Watch an operator that has nothing to do: at rest, in a resync, after a restart",
			settings{kinds: allKinds, sizes: thousand, rounds: 5, pods: usual}, lifecycle,
		}, {
			"memory", "Measure the live heap with different numbers of custom resources",
			settings{kinds: caches, sizes: []int{0, 1000, 10000}, rounds: 1, pods: usual}, memory,
		}, {
			"memory-without-pods", "The same, for caches of size 0",
			settings{kinds: caches, sizes: []int{0, 1000, 10000}, rounds: 1, pods: 0}, memory,
		}, {
			"unrelated", "Measure what Deployments, Pods and Secrets of others cost in memory",
			settings{kinds: caches, sizes: []int{100}, rounds: 1, pods: usual, others: 10000}, unrelated,
		}, {
			"failing", "Measure healthy caches beside failing ones",
			settings{kinds: caches, sizes: []int{100}, rounds: 5, pods: usual, others: 100}, failing,
		}, {
			"upgrade", "Measure an upgrade that writes to all caches",
			settings{kinds: []string{"statefulset"}, sizes: thousand, rounds: 1, pods: usual}, upgrade,
		},
	}
}

// each measures all plans of settings.
func each(s settings, do func(context.Context, *scenario.Bench, scenario.Plan) ([]figures.Result, error)) (measure, error) {
	plans, err := s.plans()
	return func(ctx context.Context, bench *scenario.Bench, emit emit) error {
		for _, plan := range plans {
			results, err := do(ctx, bench, plan)
			if err != nil {
				return err
			}
			if err := emitAll(results, emit); err != nil {
				return err
			}
		}
		return nil
	}, err
}

func emitAll(results []figures.Result, emit emit) error {
	for _, result := range results {
		if err := emit(result); err != nil {
			return err
		}
	}
	return nil
}

type pairs func(*scenario.Bench, context.Context, scenario.Plan) ([]scenario.Pair, error)

func paired(name string, do pairs) func(settings) (measure, error) {
	return func(s settings) (measure, error) {
		if s.pods == 0 {
			return nil, errors.New("--pods has to be 1 or more: the bare client waits for them")
		}
		return each(s, func(ctx context.Context, bench *scenario.Bench, plan scenario.Plan) ([]figures.Result, error) {
			pairs, err := do(bench, ctx, plan)
			if err != nil {
				return nil, err
			}
			return []figures.Result{{Workload: name, Kind: plan.Kind.Name, Size: plan.Size, Figures: scenario.Figures(pairs, plan.Settle)}}, nil
		})
	}
}

func lifecycle(s settings) (measure, error) {
	return each(s, func(ctx context.Context, bench *scenario.Bench, plan scenario.Plan) ([]figures.Result, error) {
		return bench.Lifecycle(ctx, plan)
	})
}

// memory measures all sizes of a kind in one process.
func memory(s settings) (measure, error) {
	first := s
	first.sizes = []int{0}
	return each(first, func(ctx context.Context, bench *scenario.Bench, plan scenario.Plan) ([]figures.Result, error) {
		return bench.Memory(ctx, plan.Kind, s.sizes)
	})
}

func unrelated(s settings) (measure, error) {
	return each(s, func(ctx context.Context, bench *scenario.Bench, plan scenario.Plan) ([]figures.Result, error) {
		result, err := bench.Unrelated(ctx, plan, s.others)
		return []figures.Result{result}, err
	})
}

func failing(s settings) (measure, error) {
	return each(s, func(ctx context.Context, bench *scenario.Bench, plan scenario.Plan) ([]figures.Result, error) {
		result, err := bench.Failing(ctx, plan, s.others)
		return []figures.Result{result}, err
	})
}

func upgrade(s settings) (measure, error) {
	if !slices.Equal(s.kinds, []string{"statefulset"}) || s.pods == 0 {
		return nil, errors.New("an upgrade is measured with --kind statefulset and pods: only these have the agent, whose image changes")
	}
	return each(s, func(ctx context.Context, bench *scenario.Bench, plan scenario.Plan) ([]figures.Result, error) {
		result, err := bench.Upgrade(ctx, plan)
		return []figures.Result{result}, err
	})
}
