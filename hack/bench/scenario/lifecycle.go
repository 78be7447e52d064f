package scenario

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// window is how long an operator is watched that has nothing to do.
const window = 30 * time.Second

// Lifecycle measures an operator whose custom resources are all ready: what it does while nothing changes, when each is reconciled again as
// in a resync, and after a restart.
func (b *Bench) Lifecycle(ctx context.Context, plan Plan) ([]figures.Result, error) {
	var idle, resync, restart []Round
	for round := range plan.Rounds {
		err := b.populated(ctx, plan, func(operator *child.Child, resources []workload.Resource) error {
			before, err := b.measured(operator, func() error { return pause(ctx, window) })
			if err != nil {
				return err
			}
			touched, err := b.measured(operator, func() error { return b.resync(ctx, operator, resources) })
			if err != nil {
				return err
			}
			operator.Stop()
			again, err := b.restart(ctx, len(resources))
			idle, resync, restart = append(idle, before), append(resync, touched), append(restart, again)
			b.say("lifecycle of %d, %s, round %d of %d: %d writes at rest, %d in a resync, %d after a restart of %s", plan.Size, plan.Kind.Name,
				round+1, plan.Rounds, before.Usage.Total(child.Write), touched.Usage.Total(child.Write), again.Usage.Total(child.Write),
				again.Duration.Round(100*time.Millisecond))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("lifecycle: %w", err)
		}
	}
	result := func(name string, rounds []Round) figures.Result {
		for i := range rounds {
			rounds[i].Count = plan.Size
		}
		return figures.Result{Workload: name, Kind: plan.Kind.Name, Size: plan.Size, Figures: quietFigures(rounds)}
	}
	return []figures.Result{result("steady state", idle), result("resync", resync), result("restart", restart)}, nil
}

// quietFigures are those of an operator that has nothing to write.
func quietFigures(rounds []Round) []figures.Figure {
	return []figures.Figure{
		of(AllWrites, "", figures.Lower, rounds, func(r Round) float64 { return float64(r.Usage.Total(child.Write)) }),
		of("reads", "", figures.Lower, rounds, func(r Round) float64 { return float64(r.Usage.Total(child.Read)) }),
		of("time", "s", "", rounds, func(r Round) float64 { return r.Duration.Seconds() }),
		of(CPU, "ms", figures.Lower, rounds, func(r Round) float64 { return r.Usage.CPU / float64(r.Count) * 1000 }),
		of("CPU of the API server", "cores", figures.Lower, rounds, func(r Round) float64 { return r.Server.APIServer / r.Duration.Seconds() }),
		of("peak RSS", "MiB", figures.Lower, rounds, func(r Round) float64 { return mebibytes(r.Usage.PeakRSS) }),
	}
}

// populated runs do with an operator whose custom resources are ready, and cleans up.
func (b *Bench) populated(ctx context.Context, plan Plan, do func(*child.Child, []workload.Resource) error) error {
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return err
	}
	resources, err := b.resources(ctx, plan.Kind, namespace, 0, plan.Size)
	if err != nil {
		return err
	}
	operator, err := b.startOperator(ctx)
	if err != nil {
		return err
	}
	defer operator.Stop()
	if err := b.ready(ctx, resources); err != nil {
		return err
	}
	if _, err := settled(ctx, operator); err != nil {
		return err
	}
	if err := do(operator, resources); err != nil {
		return err
	}
	operator.Stop()
	return b.empty(ctx, namespace)
}

// resync changes an annotation of all custom resources, and waits until each was reconciled.
func (b *Bench) resync(ctx context.Context, operator *child.Child, resources []workload.Resource) error {
	before, err := operator.Usage()
	if err != nil {
		return err
	}
	if err := b.touch(ctx, resources); err != nil {
		return err
	}
	return idle(ctx, operator, before.Reconciles+len(resources))
}

// touch changes an annotation of all custom resources, which concerns nobody.
func (b *Bench) touch(ctx context.Context, resources []workload.Resource) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/touched":"yes"}}}`))
	return each(ctx, resources, func(ctx context.Context, resource workload.Resource) error {
		return b.Server.Client.Patch(ctx, resource, patch)
	})
}

// restart starts an operator and measures it until it has reconciled all custom resources. It is stopped then.
func (b *Bench) restart(ctx context.Context, count int, arguments ...string) (round Round, err error) {
	start := time.Now()
	server, err := b.Server.CPU()
	if err != nil {
		return round, err
	}
	operator, err := b.startOperator(ctx, arguments...)
	if err != nil {
		return round, err
	}
	defer operator.Stop()
	if err := idle(ctx, operator, count); err != nil {
		return round, err
	}
	round.Duration = time.Since(start)
	after, err := b.Server.CPU()
	if err != nil {
		return round, err
	}
	round.Server = after.Minus(server)
	round.Usage, err = settled(ctx, operator)
	return round, err
}

// idle waits until an operator has made so many reconciles since it was started, and has no more to do at once.
func idle(ctx context.Context, operator *child.Child, reconciles int) error {
	// Each question costs the operator about as much CPU time as a reconcile.
	return wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		usage, err := operator.Usage()
		return err == nil && usage.Reconciles >= reconciles && usage.Pending == 0, err
	})
}

// pause waits.
func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}
