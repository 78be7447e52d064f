package scenario

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// Memory measures the live heap of the operator with different numbers of custom resources, from few to many, in one process.
func (b *Bench) Memory(ctx context.Context, kind workload.Kind, sizes []int) ([]figures.Result, error) {
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	operator, err := b.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	defer operator.Stop()
	var results []figures.Result
	sizes = slices.Sorted(slices.Values(sizes))
	var first float64
	for i, size := range sizes {
		below := 0
		if i > 0 {
			below = sizes[i-1]
		}
		resources, err := b.resources(ctx, kind, namespace, below, size-below)
		if err != nil {
			return nil, err
		}
		if err := b.ready(ctx, resources); err != nil {
			return nil, err
		}
		usage, err := heap(ctx, operator)
		if err != nil {
			return nil, err
		}
		b.say("memory with %d, %s: live heap %.1f MiB, RSS %.1f MiB", size, kind.Name, mebibytes(usage.Heap), mebibytes(usage.RSS))
		result := figures.Result{Workload: "memory", Kind: MemoryKind(kind), Size: size, Figures: memoryFigures(usage)}
		if i == 0 {
			first = float64(usage.Heap)
		} else {
			slope := kibibytes((float64(usage.Heap) - first) / float64(size-sizes[0]))
			result.Figures = append(result.Figures, figures.Figure{Name: HeapSlope, Unit: "KiB", Better: figures.Lower, Rounds: []float64{slope}})
		}
		results = append(results, result)
	}
	operator.Stop()
	return results, b.empty(ctx, namespace)
}

// MemoryKind is what results of Memory call a kind.
func MemoryKind(kind workload.Kind) string { return fmt.Sprintf("%s, pods: %d", kind.Name, kind.Size) }

func memoryFigures(usage child.Usage) []figures.Figure {
	return []figures.Figure{
		{Name: Heap, Unit: "MiB", Better: figures.Lower, Rounds: []float64{mebibytes(usage.Heap)}},
		{Name: "RSS", Unit: "MiB", Better: figures.Lower, Rounds: []float64{mebibytes(usage.RSS)}},
		{Name: "peak RSS", Unit: "MiB", Better: figures.Lower, Rounds: []float64{mebibytes(usage.PeakRSS)}},
	}
}

// heap waits until an operator has done what it puts off, and returns its usage with the live heap.
func heap(ctx context.Context, operator *child.Child) (child.Usage, error) {
	if _, err := settled(ctx, operator); err != nil {
		return child.Usage{}, err
	}
	return operator.Heap()
}

// Unrelated measures by how much objects of others make the live heap of the operator grow: so many Deployments, Pods and Secrets each.
func (b *Bench) Unrelated(ctx context.Context, plan Plan, others int) (result figures.Result, err error) {
	result = figures.Result{Workload: "unrelated objects", Kind: plan.Kind.Name, Size: plan.Size}
	strangers, err := b.newNamespace(ctx)
	if err != nil {
		return result, err
	}
	err = b.populated(ctx, plan, func(operator *child.Child, resources []workload.Resource) error {
		operator.Stop()
		before, err := b.heapAfterStart(ctx, len(resources))
		if err != nil {
			return err
		}
		if err := b.strangers(ctx, strangers, others); err != nil {
			return err
		}
		after, err := b.heapAfterStart(ctx, len(resources))
		growth := (float64(after.Heap)/float64(before.Heap) - 1) * 100
		b.say("unrelated objects: %d each: live heap %.2f to %.2f MiB, %.2f %%", others, mebibytes(before.Heap), mebibytes(after.Heap), growth)
		result.Figures = []figures.Figure{
			{Name: "live heap without", Unit: "MiB", Rounds: []float64{mebibytes(before.Heap)}},
			{Name: "live heap with", Unit: "MiB", Rounds: []float64{mebibytes(after.Heap)}},
			{Name: HeapGrowth, Unit: "%", Better: figures.Lower, Rounds: []float64{growth}},
			{Name: "unrelated Deployments, Pods and Secrets, each", Rounds: []float64{float64(others)}},
		}
		return err
	})
	if err != nil {
		return result, fmt.Errorf("unrelated objects: %w", err)
	}
	return result, b.empty(ctx, strangers)
}

// heapAfterStart starts an operator, lets it reconcile everything, and measures it.
func (b *Bench) heapAfterStart(ctx context.Context, reconciles int) (child.Usage, error) {
	operator, err := b.startOperator(ctx)
	if err != nil {
		return child.Usage{}, err
	}
	defer operator.Stop()
	if err := idle(ctx, operator, reconciles); err != nil {
		return child.Usage{}, err
	}
	return heap(ctx, operator)
}

// strangers makes objects that are not the operator's.
func (b *Bench) strangers(ctx context.Context, namespace string, count int) error {
	labels := map[string]string{"app": "stranger"}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/stranger:1"}}}
	numbers := make([]int, count)
	for i := range numbers {
		numbers[i] = i
	}
	return each(ctx, numbers, func(ctx context.Context, number int) error {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("stranger-%d", number), Labels: labels}
		deployment := &appsv1.Deployment{ObjectMeta: meta}
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}
		secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"content": make([]byte, 1024)}}
		for _, object := range []client.Object{deployment, secret, &corev1.Pod{ObjectMeta: meta, Spec: pod}} {
			if err := b.Server.Client.Create(ctx, object); err != nil {
				return err
			}
		}
		return nil
	})
}
