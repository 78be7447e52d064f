package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// Pair is a round of the bare client and one of the operator, one after the other.
type Pair struct{ Bare, Operator Round }

// Plan says what to measure.
type Plan struct {
	Kind workload.Kind
	// Size is the number of custom resources.
	Size int
	// Rounds is how often it is measured. In the last Settle of them, the operator does what it puts off as well.
	Rounds, Settle int
}

// work is what a client is measured at.
type work func(ctx context.Context, client *child.Child, resources []workload.Resource, settle bool) (Round, error)

// Burst measures how custom resources are created all at once: first the bare client handles them, then the operator does, and so on.
func (b *Bench) Burst(ctx context.Context, plan Plan) ([]Pair, error) {
	return b.pairs(ctx, "burst", plan, func(ctx context.Context, client *child.Child, resources []workload.Resource, settle bool) (Round, error) {
		return b.act(ctx, client, resources, b.creation(settle))
	})
}

// Scale measures how all custom resources get one more pod at once.
func (b *Bench) Scale(ctx context.Context, plan Plan) ([]Pair, error) {
	scale := func(ctx context.Context, resource workload.Resource) error {
		return b.Server.Client.Patch(ctx, resource, plan.Kind.Scale(1))
	}
	return b.pairs(ctx, "scale", plan, func(ctx context.Context, client *child.Child, resources []workload.Resource, settle bool) (Round, error) {
		if err := b.ready(ctx, resources); err != nil {
			return Round{}, err
		}
		if _, err := settled(ctx, client); err != nil {
			return Round{}, err
		}
		return b.act(ctx, client, resources, action{do: scale, generation: 2, settle: settle})
	})
}

// pairs lets both clients do the same work in turn. Which of them begins alternates, so that a machine that gets busier is fair to both.
func (b *Bench) pairs(ctx context.Context, name string, plan Plan, do work) ([]Pair, error) {
	templates, err := b.learn(ctx, plan.Kind)
	if err != nil {
		return nil, err
	}
	// The first round is slower: the API server grows its caches.
	first := plan
	first.Size = min(plan.Size, 100)
	if _, err := b.bareRound(ctx, first, templates, do); err != nil {
		return nil, fmt.Errorf("the bare client, before anything is measured: %w", err)
	}
	pairs := make([]Pair, plan.Rounds)
	for round := range plan.Rounds {
		pair := &pairs[round]
		title := fmt.Sprintf("%s of %d, %s, round %d of %d", name, plan.Size, plan.Kind.Name, round+1, plan.Rounds)
		turns := []func() error{
			func() (err error) {
				if pair.Bare, err = b.bareRound(ctx, plan, templates, do); err == nil {
					b.say("%s: bare client %s", title, pair.Bare.line())
				}
				return err
			},
			func() (err error) {
				profile := fmt.Sprintf("%s-%s-%d", name, plan.Kind.Name, plan.Size)
				if pair.Operator, err = b.operatorRound(ctx, plan, profile, round >= plan.Rounds-plan.Settle, do); err == nil {
					b.say("%s: operator    %s", title, pair.Operator.line())
				}
				return err
			},
		}
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			if err := turn(); err != nil {
				return nil, fmt.Errorf("%s: %w", title, err)
			}
		}
	}
	return pairs, nil
}

func (b *Bench) bareRound(ctx context.Context, plan Plan, templates *workload.Templates, do work) (Round, error) {
	bare, err := b.startBare(ctx, templates)
	if err != nil {
		return Round{}, err
	}
	var failure string
	round, err := b.fresh(ctx, bare, plan, func(resources []workload.Resource) (Round, error) {
		round, err := do(ctx, bare, resources, false)
		return round, errors.Join(err, bare.Call("Bare.Failure", child.Nothing{}, &failure))
	})
	if failure != "" {
		err = errors.Join(errors.New(failure), err)
	}
	if err != nil {
		err = fmt.Errorf("the bare client: %w", err)
	}
	return round, err
}

func (b *Bench) operatorRound(ctx context.Context, plan Plan, profile string, settle bool, do work) (Round, error) {
	operator, err := b.startOperator(ctx)
	if err != nil {
		return Round{}, err
	}
	return b.fresh(ctx, operator, plan, func(resources []workload.Resource) (round Round, err error) {
		return round, b.profiled(operator, profile, func() error {
			round, err = do(ctx, operator, resources, settle)
			return err
		})
	})
}

// fresh warms a client up, runs do in a fresh namespace, stops the client and empties the namespace.
func (b *Bench) fresh(ctx context.Context, client *child.Child, plan Plan, do func([]workload.Resource) (Round, error)) (Round, error) {
	defer client.Stop()
	if err := b.warmUp(ctx, plan.Kind); err != nil {
		return Round{}, err
	}
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return Round{}, err
	}
	resources, err := b.resources(ctx, plan.Kind, namespace, 0, plan.Size)
	if err != nil {
		return Round{}, err
	}
	round, err := do(resources)
	if err != nil {
		return Round{}, err
	}
	client.Stop()
	return round, b.empty(ctx, namespace)
}

// line describes a round in a line of progress.
func (r Round) line() string {
	count := float64(r.Count)
	return fmt.Sprintf("%.1f/s, p50 %d ms, %.2f reads and %.2f writes each, %.1f ms CPU (API server %.1f)", count/r.Duration.Seconds(),
		r.Latencies[len(r.Latencies)/2].Milliseconds(), float64(r.Settled.Total(child.Read))/count, float64(r.Settled.Total(child.Write))/count,
		r.Usage.CPU/count*1000, r.Server.APIServer/count*1000)
}
