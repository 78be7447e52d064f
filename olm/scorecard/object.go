package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/walk"
)

// patience is how long a step may take. The first pull of an image takes longest.
const patience = 2 * time.Minute

// objectTest does with an object of any kind what a user does. A type for each kind adds the steps of that kind.
type objectTest struct {
	cluster client.Client
	object  unstructured.Unstructured
	// pods are the object's pods when it was last seen ready.
	pods []corev1.Pod
	// steps are taken between the creation and the deletion of the object.
	steps []step
	// inspect checks a ready object, and describes it.
	inspect func() (string, error)
	// owned objects must be gone after the object is deleted. So must its pods.
	owned []client.Object
}

// step is one thing that a user does. Its function returns what the result's log says.
type step struct {
	name string
	take func(context.Context) (string, error)
}

// run creates the object and takes the steps in order, up to the first that fails. It deletes the object if it created it.
func (o *objectTest) run(ctx context.Context) []v1alpha3.TestResult {
	kind := o.object.GetKind()
	log, err := o.create(ctx)
	results := []v1alpha3.TestResult{outcome(kind, "create the example", log, err)}
	if err != nil {
		return results
	}
	for _, step := range o.steps {
		log, err := step.take(ctx)
		results = append(results, outcome(kind, step.name, log, err))
		if err != nil {
			break
		}
	}
	log, err = o.remove(ctx)
	return append(results, outcome(kind, "delete it", log, err))
}

func (o *objectTest) create(ctx context.Context) (string, error) {
	name := client.ObjectKeyFromObject(&o.object)
	err := o.cluster.Create(ctx, &o.object)
	switch {
	case apierrors.IsAlreadyExists(err):
		return "", advice{err, "run the scorecard in a namespace of its own: it will not touch an object that it did not make"}
	case apierrors.IsForbidden(err):
		return "", advice{err, "apply olm/scorecard/rbac.yaml in that namespace and give --service-account memcached-operator-scorecard"}
	case meta.IsNoMatchError(err):
		return "", advice{err, "install the operator before running the scorecard"}
	case err != nil:
		return "", fmt.Errorf("create %s: %w", name, err)
	}
	return fmt.Sprintf("created %s", name), nil
}

func (o *objectTest) becomeReady(ctx context.Context) (string, error) {
	err := walk.Within(ctx, patience, "the object to be ready", func(ctx context.Context) error {
		if err := o.cluster.Get(ctx, client.ObjectKeyFromObject(&o.object), &o.object); err != nil {
			return err
		}
		return walk.Ready(o.object)
	})
	if err != nil {
		return "", advice{err, "look at the events of the object and of its Deployment, and at the operator's log"}
	}
	if o.pods, err = o.listPods(ctx); err != nil {
		return "", err
	}
	return o.inspect()
}

func (o *objectTest) scaleUp(ctx context.Context) (string, error) {
	before := o.pods
	size := int32(len(before) + 1)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: o.object.GetName(), Namespace: o.object.GetNamespace()},
		Spec:       autoscalingv1.ScaleSpec{Replicas: size},
	}
	if err := o.cluster.SubResource("scale").Update(ctx, &o.object, client.WithSubResourceBody(scale)); err != nil {
		return "", fmt.Errorf("scale to %d: %w", size, err)
	}
	if _, err := o.becomeReady(ctx); err != nil {
		return "", err
	}
	if len(o.pods) != int(size) {
		return "", fmt.Errorf("ready with %d pods after scaling to %d", len(o.pods), size)
	}
	for _, old := range before {
		if !slices.ContainsFunc(o.pods, func(pod corev1.Pod) bool { return pod.UID == old.UID }) {
			return "", fmt.Errorf("pod %s was replaced by scaling up", old.Name)
		}
	}
	return fmt.Sprintf("%d pods, the first %d untouched", size, len(before)), nil
}

func (o *objectTest) remove(ctx context.Context) (string, error) {
	if err := o.cluster.Delete(ctx, &o.object); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("delete it: %w", err)
	}
	err := walk.Within(ctx, patience, "the object to go, and all that it owns", func(ctx context.Context) error {
		if err := o.cluster.Get(ctx, client.ObjectKeyFromObject(&o.object), &o.object); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return o.left(ctx)
	})
	if err != nil {
		return "", err
	}
	return "it is gone, and so is all that it owned", nil
}

// left names an object or the number of pods that the object owned and that still exist.
func (o *objectTest) left(ctx context.Context) error {
	for _, object := range o.owned {
		if err := o.cluster.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("its %T is still there", object), err)
		}
	}
	pods, err := o.listPods(ctx)
	if len(pods) > 0 {
		return fmt.Errorf("%d pods are still there", len(pods))
	}
	return err
}

// listPods returns the object's pods that are not being deleted.
func (o *objectTest) listPods(ctx context.Context) ([]corev1.Pod, error) {
	selector, _, _ := unstructured.NestedString(o.object.Object, "status", "selector")
	parsed, err := labels.Parse(selector)
	if err != nil || parsed.Empty() {
		return nil, errors.Join(fmt.Errorf("status.selector %q selects nothing", selector), err)
	}
	var list corev1.PodList
	options := &client.ListOptions{Namespace: o.object.GetNamespace(), LabelSelector: parsed}
	if err := o.cluster.List(ctx, &list, options); err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), nil
}
