package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// patience is how long an upgrade may take.
const patience = 30 * time.Minute

// Upgrade measures how long another version of the operator, which brings another image of the agent, takes until every cache has it.
func (b *Bench) Upgrade(ctx context.Context, plan Plan) (figures.Result, error) {
	result := figures.Result{Workload: "upgrade", Kind: plan.Kind.Name, Size: plan.Size}
	var rounds []Round
	for round := range plan.Rounds {
		image := fmt.Sprintf("quay.io/example/memcached-operator:v9.9.%d", round)
		err := b.populated(ctx, plan, func(operator *child.Child, resources []workload.Resource) error {
			operator.Stop()
			measured, err := b.upgrade(ctx, resources, image)
			rounds = append(rounds, measured)
			b.say("upgrade of %d, %s, round %d of %d: %s, %.2f writes each", plan.Size, plan.Kind.Name, round+1, plan.Rounds,
				measured.Duration.Round(100*time.Millisecond), measured.per(measured.Usage.Total(child.Write)))
			return err
		})
		if err != nil {
			return result, fmt.Errorf("upgrade: %w", err)
		}
	}
	result.Figures = []figures.Figure{
		of("time until all have the new image", "s", figures.Lower, rounds, func(r Round) float64 { return r.Duration.Seconds() }),
		of("CPU of the API server meanwhile", "cores", "", rounds, func(r Round) float64 { return r.Server.APIServer / r.Duration.Seconds() }),
		of("CPU of the operator meanwhile", "cores", "", rounds, func(r Round) float64 { return r.Usage.CPU / r.Duration.Seconds() }),
		of(Reads, "", figures.Lower, rounds, func(r Round) float64 { return r.per(r.Usage.Total(child.Read)) }),
		of(Writes, "", figures.Lower, rounds, func(r Round) float64 { return r.per(r.Usage.Total(child.Write)) }),
		of("peak RSS", "MiB", figures.Lower, rounds, func(r Round) float64 { return mebibytes(r.Usage.PeakRSS) }),
	}
	result.Figures = append(result.Figures, calls(rounds)...)
	return result, nil
}

func (b *Bench) upgrade(ctx context.Context, resources []workload.Resource, image string) (Round, error) {
	server, err := b.Server.CPU()
	if err != nil {
		return Round{}, err
	}
	start := time.Now()
	operator, err := b.startOperator(ctx, image)
	if err != nil {
		return Round{}, err
	}
	defer operator.Stop()
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return b.upgraded(ctx, resources, image)
	})
	if err != nil {
		return Round{}, err
	}
	round := Round{Count: len(resources), Duration: time.Since(start)}
	after, err := b.Server.CPU()
	if err != nil {
		return round, err
	}
	round.Server = after.Minus(server)
	round.Usage, err = operator.Usage()
	round.Settled = round.Usage
	return round, err
}

// upgraded tells whether all StatefulSets and pods run an image, and all caches are Ready.
func (b *Bench) upgraded(ctx context.Context, resources []workload.Resource, image string) (bool, error) {
	namespace := client.InNamespace(resources[0].GetNamespace())
	sets := &appsv1.StatefulSetList{}
	if err := b.cache.List(ctx, sets, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	for i := range sets.Items {
		set := &sets.Items[i]
		if !runs(set.Spec.Template.Spec, image) || set.Status.ObservedGeneration < set.Generation ||
			set.Status.UpdatedReplicas != ptr.Deref(set.Spec.Replicas, 1) {
			return false, nil
		}
	}
	for _, key := range keysOf(resources) {
		if !b.tracker.readyNow(key) {
			return false, nil
		}
	}
	return len(sets.Items) == len(resources), nil
}

// runs tells whether a container of a pod has an image.
func runs(pod corev1.PodSpec, image string) bool {
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if container.Image == image {
			return true
		}
	}
	return false
}
