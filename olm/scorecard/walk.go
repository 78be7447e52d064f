package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience is how long a step may take. Pulling an image for the first time is the slowest part of any.
	patience = 2 * time.Minute
	// interval is how often a step looks again.
	interval = 500 * time.Millisecond
)

// walk is what a user does with an object of any kind. What is done with one kind alone is in a type around it.
type walk struct {
	cluster client.Client
	object  unstructured.Unstructured
	// pods are the object's pods as they were last seen ready.
	pods []corev1.Pod
	// inspect says what a ready object of the kind shows, and what is wrong with it.
	inspect func() (string, error)
	// owned has to be gone when the object is deleted, as do its pods.
	owned []client.Object
}

// step is one thing that a user does; it returns what there is to tell.
type step struct {
	name string
	take func(context.Context) (string, error)
}

// run creates the object and takes the steps in order, up to the first that fails. It always takes the object away
// again if it made it.
func (w *walk) run(ctx context.Context, steps ...step) []v1alpha3.TestResult {
	kind := w.object.GetKind()
	log, err := w.create(ctx)
	results := []v1alpha3.TestResult{outcome(kind, "create the example", log, err)}
	if err != nil {
		return results
	}
	for _, step := range append([]step{{"wait until it is ready", w.becomeReady}}, steps...) {
		log, err := step.take(ctx)
		results = append(results, outcome(kind, step.name, log, err))
		if err != nil {
			break
		}
	}
	log, err = w.remove(ctx)
	return append(results, outcome(kind, "delete it", log, err))
}

func (w *walk) create(ctx context.Context) (string, error) {
	name := client.ObjectKeyFromObject(&w.object)
	err := w.cluster.Create(ctx, &w.object)
	switch {
	case apierrors.IsAlreadyExists(err):
		return "", advise(err, "run the scorecard in a namespace of its own: it will not touch an object that it did not make")
	case apierrors.IsForbidden(err):
		return "", advise(err, "apply olm/scorecard/rbac.yaml in that namespace and give --service-account memcached-operator-scorecard")
	case meta.IsNoMatchError(err):
		return "", advise(err, "install the operator before running the scorecard")
	case err != nil:
		return "", fmt.Errorf("create %s: %w", name, err)
	}
	return fmt.Sprintf("created %s", name), nil
}

func (w *walk) becomeReady(ctx context.Context) (string, error) {
	err := w.until(ctx, func(ctx context.Context) error {
		if err := w.cluster.Get(ctx, client.ObjectKeyFromObject(&w.object), &w.object); err != nil {
			return err
		}
		return readiness(w.object)
	})
	if err != nil {
		return "", advise(err, "look at the events of the object and of its Deployment, and at the operator's log")
	}
	if w.pods, err = w.listPods(ctx); err != nil {
		return "", err
	}
	return w.inspect()
}

// readiness returns what keeps the object from being ready for the newest spec, nil when it is.
func readiness(object unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != "Ready" {
			continue
		}
		if generation, _ := condition["observedGeneration"].(int64); generation != object.GetGeneration() {
			return errors.New("condition Ready is of an older generation")
		}
		if condition["status"] != string(metav1.ConditionTrue) {
			return fmt.Errorf("condition Ready is %v: %v: %v", condition["status"], condition["reason"], condition["message"])
		}
		return nil
	}
	return errors.New("there is no condition Ready")
}

func (w *walk) scaleUp(ctx context.Context) (string, error) {
	before := w.pods
	size := int32(len(before) + 1)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: w.object.GetName(), Namespace: w.object.GetNamespace()},
		Spec:       autoscalingv1.ScaleSpec{Replicas: size},
	}
	if err := w.cluster.SubResource("scale").Update(ctx, &w.object, client.WithSubResourceBody(scale)); err != nil {
		return "", fmt.Errorf("scale to %d: %w", size, err)
	}
	if _, err := w.becomeReady(ctx); err != nil {
		return "", err
	}
	if len(w.pods) != int(size) {
		return "", fmt.Errorf("ready with %d pods after scaling to %d", len(w.pods), size)
	}
	for _, old := range before {
		if !contains(w.pods, old) {
			return "", fmt.Errorf("pod %s was replaced by scaling up", old.Name)
		}
	}
	return fmt.Sprintf("%d pods, the first %d untouched", size, len(before)), nil
}

func (w *walk) remove(ctx context.Context) (string, error) {
	if err := w.cluster.Delete(ctx, &w.object); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("delete it: %w", err)
	}
	err := w.until(ctx, func(ctx context.Context) error {
		if err := w.cluster.Get(ctx, client.ObjectKeyFromObject(&w.object), &w.object); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return w.left(ctx)
	})
	if err != nil {
		return "", err
	}
	return "it is gone, and so is what belonged to it", nil
}

// left names what of the object's is still there.
func (w *walk) left(ctx context.Context) error {
	for _, object := range w.owned {
		if err := w.cluster.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("its %T is still there", object), err)
		}
	}
	pods, err := w.listPods(ctx)
	if len(pods) > 0 {
		return fmt.Errorf("%d pods are still there", len(pods))
	}
	return err
}

// until polls look until it returns nil; after patience has run out it returns what look last returned.
func (w *walk) until(ctx context.Context, look func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		err := look(ctx)
		if ctx.Err() == nil || last == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("not within %s: %w", patience, last)
	}
	return nil
}

// listPods returns the object's pods that are there to stay.
func (w *walk) listPods(ctx context.Context) ([]corev1.Pod, error) {
	selector, _, _ := unstructured.NestedString(w.object.Object, "status", "selector")
	parsed, err := labels.Parse(selector)
	if err != nil || parsed.Empty() {
		return nil, errors.Join(fmt.Errorf("status.selector %q selects nothing", selector), err)
	}
	var list corev1.PodList
	options := &client.ListOptions{Namespace: w.object.GetNamespace(), LabelSelector: parsed}
	if err := w.cluster.List(ctx, &list, options); err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func contains(pods []corev1.Pod, pod corev1.Pod) bool {
	for _, p := range pods {
		if p.UID == pod.UID {
			return true
		}
	}
	return false
}
