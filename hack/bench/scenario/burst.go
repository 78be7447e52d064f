package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// Pair is a round of the bare client and one of the operator, one after the other.
type Pair struct{ Bare, Operator Round }

// Burst creates custom resources of a kind, as many as size, at once: first the bare client handles them, then the operator does, and so on.
// In the last settle rounds it waits for what the operator puts off.
func (b *Bench) Burst(ctx context.Context, kind workload.Kind, size, rounds, settle int) ([]Pair, error) {
	templates, err := b.learn(ctx, kind)
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	for round := range rounds {
		var pair Pair
		if pair.Bare, err = b.bareBurst(ctx, kind, templates, size); err != nil {
			return nil, fmt.Errorf("the bare client: %w", err)
		}
		b.say("burst of %d, %s, round %d of %d: bare client %s", size, kind.Name, round+1, rounds, pair.Bare.line())
		if pair.Operator, err = b.operatorBurst(ctx, kind, size, round >= rounds-settle); err != nil {
			return nil, fmt.Errorf("the operator: %w", err)
		}
		b.say("burst of %d, %s, round %d of %d: operator    %s", size, kind.Name, round+1, rounds, pair.Operator.line())
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

func (b *Bench) bareBurst(ctx context.Context, kind workload.Kind, templates *workload.Templates, size int) (Round, error) {
	bare, err := b.startBare(ctx, templates)
	if err != nil {
		return Round{}, err
	}
	var failure string
	round, err := b.fresh(ctx, bare, kind, size, func(resources []workload.Resource) (Round, error) {
		round, err := b.burst(ctx, bare, resources, false)
		return round, errors.Join(err, bare.Call("Bare.Failure", child.Nothing{}, &failure))
	})
	if err == nil && failure != "" {
		err = errors.New(failure)
	}
	return round, err
}

func (b *Bench) operatorBurst(ctx context.Context, kind workload.Kind, size int, settle bool) (Round, error) {
	operator, err := b.startOperator(ctx)
	if err != nil {
		return Round{}, err
	}
	return b.fresh(ctx, operator, kind, size, func(resources []workload.Resource) (round Round, err error) {
		name := fmt.Sprintf("burst-%s-%d", kind.Name, size)
		return round, b.profiled(operator, name, func() error {
			round, err = b.burst(ctx, operator, resources, settle)
			return err
		})
	})
}

// fresh warms a client up, runs do in a fresh namespace, stops the client and empties the namespace.
func (b *Bench) fresh(
	ctx context.Context, client *child.Child, kind workload.Kind, size int, do func([]workload.Resource) (Round, error),
) (round Round, err error) {
	stop := client.Stop
	defer func() { err = errors.Join(err, stop()) }()
	if err := b.warmUp(ctx, kind); err != nil {
		return round, err
	}
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return round, err
	}
	resources, err := b.resources(ctx, kind, namespace, 0, size, kind.Size)
	if err != nil {
		return round, err
	}
	if round, err = do(resources); err != nil {
		return round, err
	}
	stopped := stop()
	stop = func() error { return nil }
	return round, errors.Join(stopped, b.empty(ctx, namespace))
}

// line describes a round in a line of progress.
func (r Round) line() string {
	count := float64(r.Count)
	return fmt.Sprintf("%.1f/s, p50 %d ms, %.2f reads and %.2f writes each, %.1f ms CPU (API server %.1f)", count/r.Duration.Seconds(),
		r.Latencies[len(r.Latencies)/2].Milliseconds(), float64(r.Settled.Total(child.Read))/count, float64(r.Settled.Total(child.Write))/count,
		r.Usage.CPU/count*1000, r.Server.APIServer/count*1000)
}
