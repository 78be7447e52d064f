package executor

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// mostPulls is about how many pods pull images at the same time, for all caches: an upgrade of the operator brings all of them another
// agent. A namespace has half of them at most, so that none keeps the others from pulling.
const mostPulls = 20

// Pull creates and deletes the pods that pull images. It returns why pods cannot be created, by their names, if a quota or an
// admission policy refuses them. Those that have to wait for others are created by a later reconcile. It also returns after which time to
// reconcile again because a pod may not be deleted, although the API server says that it is another one or gone; 0 for never.
func (e *Executor) Pull(ctx context.Context, pulls desired.Pulls) (refused map[string]inputs.PullProblem, after time.Duration, err error) {
	if after, err = e.deletePulls(ctx, pulls.Delete); err != nil {
		return nil, 0, err
	}
	refused, err = e.createPulls(ctx, pulls)
	return refused, after, err
}

// deletePulls deletes pods that pull images, and returns after which time to try again.
func (e *Executor) deletePulls(ctx context.Context, pulled []*corev1.Pod) (after time.Duration, err error) {
	for _, pod := range pulled {
		//nolint:forbidigo // Pull pods are in no plan: they are never repaired.
		err := e.Client.Delete(ctx, pod.DeepCopy(), client.Preconditions{UID: &pod.UID})
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			after = recheck
		case err != nil:
			return 0, fmt.Errorf("delete pod %s/%s, which has pulled images: %w", pod.Namespace, pod.Name, err)
		}
	}
	return after, nil
}

// createPulls creates pods that pull images. It returns why some cannot be created, by their names.
func (e *Executor) createPulls(ctx context.Context, pulls desired.Pulls) (map[string]inputs.PullProblem, error) {
	if len(pulls.Create) == 0 {
		return nil, nil
	}
	free, err := e.freePulls(ctx, pulls.Create[0].Namespace, pulls.Now)
	if err != nil || free <= 0 {
		return nil, err
	}
	set, err := e.admitted(ctx, pulls.StatefulSet)
	if err != nil {
		return nil, err
	}
	refusals := map[string]inputs.PullProblem{}
	for _, pod := range pulls.Create[:min(free, len(pulls.Create))] {
		for i := range pod.Spec.Containers {
			if admitted := pods.Container(set.Spec.Template.Spec.Containers, pod.Spec.Containers[i].Name); admitted != nil {
				pod.Spec.Containers[i].Image = admitted.Image
			}
		}
		//nolint:forbidigo // As above.
		err := e.Client.Create(ctx, pod)
		switch {
		case apierrors.IsAlreadyExists(err):
			refusals[pod.Name], err = e.foreign(ctx, pod)
		case reconcileerror.Refused(err):
			refusals[pod.Name], err = inputs.PullProblem{Message: fmt.Sprintf("the pod that pulls images cannot be created: %s", err), Refused: true}, nil
		}
		if err != nil {
			return refusals, fmt.Errorf("create pod %s/%s, which pulls images: %w", pod.Namespace, pod.Name, err)
		}
	}
	return refusals, nil
}

// foreign returns what is wrong with a pod that exists already, nothing if the operator created it for the same cache: then its own
// cache will have it in a moment.
func (e *Executor) foreign(ctx context.Context, pod *corev1.Pod) (inputs.PullProblem, error) {
	found := &corev1.PodList{} // The operator may list pods, and not get one.
	if err := e.Live.List(ctx, found, client.InNamespace(pod.Namespace), client.MatchingFields{metav1.ObjectNameField: pod.Name}); err != nil {
		return inputs.PullProblem{}, err
	}
	for i := range found.Items {
		labelled := labels.SelectorFromSet(pod.Labels).Matches(labels.Set(found.Items[i].Labels)) // Policies may add others.
		if owner := metav1.GetControllerOf(&found.Items[i]); owner != nil && owner.UID == pod.OwnerReferences[0].UID && labelled {
			return inputs.PullProblem{}, nil
		}
	}
	if len(found.Items) == 0 {
		return inputs.PullProblem{}, nil
	}
	message := fmt.Sprintf("pod %s, which is to pull images, belongs to somebody else or was changed: delete it", pod.Name)
	return inputs.PullProblem{Message: message, Refused: true}, nil
}

// freePulls returns how many pods may be created in a namespace now. Pods that may never pull their images hold nobody up.
func (e *Executor) freePulls(ctx context.Context, namespace string, now time.Time) (int, error) {
	found, free, pulling := &corev1.PodList{}, mostPulls, map[string]int{}
	ofPulls := client.MatchingLabels{owned.LabelManagedBy: owned.Manager, owned.LabelComponent: desired.PullComponent}
	if err := e.Client.List(ctx, found, ofPulls, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list the pods that pull images: %w", err)
	}
	for _, pod := range found.Items {
		if problem, pulled := inputs.PullOf(&pod, now); !pulled && problem.Message == "" && pulling[pod.Namespace] < mostPulls/2 {
			pulling[pod.Namespace]++
			free--
		}
	}
	return min(free, mostPulls/2-pulling[namespace]), nil
}

// admitted returns a StatefulSet as the API server would store it. A StatefulSet that it refuses has no containers: the write
// reports why.
func (e *Executor) admitted(ctx context.Context, configuration owned.Configuration) (*appsv1.StatefulSet, error) {
	object := &unstructured.Unstructured{Object: *owned.Convert[map[string]any](configuration)}
	//nolint:forbidigo // A dry run writes nothing.
	err := e.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.DryRunAll, client.FieldOwner(owned.Manager), client.ForceOwnership)
	switch {
	case reconcileerror.Refused(err):
		return &appsv1.StatefulSet{}, nil
	case err != nil:
		return nil, fmt.Errorf("ask for the images of StatefulSet %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return owned.Convert[appsv1.StatefulSet](object.Object), nil
}
