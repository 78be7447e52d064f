//go:build faults

package faults_test

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired"
)

// current says whether Kubernetes and the operator are done: all pods are those that workloads ask for, and are ready, and every status is
// that of the newest spec and of these pods. A silence alone may be that of a busy machine.
func current(s *scene) error {
	return errors.Join(s.workloadsAreCurrent(), s.podsAreReady(), s.budgetsAreCurrent(), s.cachesAreReported(), s.applicationsAreReported())
}

// typed returns the objects of a resource.
func typed[T any](s *scene, resource string) (all []*T, err error) {
	for _, object := range s.history.All(resource) {
		converted := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, converted); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", object.GetName(), resource, err)
		}
		all = append(all, converted)
	}
	return all, nil
}

func (s *scene) workloadsAreCurrent() error {
	deployments, err1 := typed[appsv1.Deployment](s, "deployments")
	sets, err2 := typed[appsv1.StatefulSet](s, "statefulsets")
	errs := []error{err1, err2}
	for _, d := range deployments {
		wanted := ptr.Deref(d.Spec.Replicas, 1)
		if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas != wanted || d.Status.UpdatedReplicas != wanted || d.Status.ReadyReplicas != wanted {
			errs = append(errs, fmt.Errorf("the status of Deployment %s is %+v", d.Name, d.Status))
		}
	}
	for _, set := range sets { // The operator itself updates its pods.
		wanted := ptr.Deref(set.Spec.Replicas, 1)
		if set.Status.ObservedGeneration != set.Generation || set.Status.Replicas != wanted || set.Status.ReadyReplicas != wanted {
			errs = append(errs, fmt.Errorf("the status of StatefulSet %s is %+v", set.Name, set.Status))
		}
	}
	return errors.Join(errs...)
}

func (s *scene) podsAreReady() error {
	all, err := typed[corev1.Pod](s, "pods")
	errs := []error{err}
	for _, pod := range all {
		if pod.Labels[owned.LabelComponent] == desired.PullComponent {
			continue
		}
		if pod.DeletionTimestamp != nil || pod.Status.ObservedGeneration != pod.Generation || !isReady(pod) {
			errs = append(errs, fmt.Errorf("pod %s is not ready", pod.Name))
		}
	}
	return errors.Join(errs...)
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// budgetsAreCurrent says whether Kubernetes' disruption controller has counted the pods that are ready.
func (s *scene) budgetsAreCurrent() error {
	budgets, err1 := typed[policyv1.PodDisruptionBudget](s, "poddisruptionbudgets")
	pods, err2 := typed[corev1.Pod](s, "pods")
	errs := []error{err1, err2}
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		ready := int32(0)
		for _, pod := range pods {
			if err == nil && selector.Matches(labels.Set(pod.Labels)) && isReady(pod) {
				ready++
			}
		}
		if err == nil && (b.Status.ObservedGeneration != b.Generation || b.Status.CurrentHealthy != ready) {
			err = fmt.Errorf("of %d ready pods, PodDisruptionBudget %s has counted %d", ready, b.Name, b.Status.CurrentHealthy)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cachesAreReported says whether the operator has reported all pods of all caches, which may take it ten seconds.
func (s *scene) cachesAreReported() error {
	caches, err1 := typed[v1alpha1.Memcached](s, "memcacheds")
	all, err2 := typed[corev1.Pod](s, "pods")
	errs := []error{err1, err2}
	for _, c := range caches {
		if err := reported(c.Name, c.Generation, c.Status.Conditions); err != nil {
			errs = append(errs, err)
			continue
		}
		selector, err := labels.Parse(c.Status.Selector)
		pods := map[string]*corev1.Pod{}
		for _, pod := range all {
			if err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
				pods[pod.Name] = pod
			}
		}
		errs = append(errs, err, endpointsAre(c, pods))
	}
	return errors.Join(errs...)
}

// endpointsAre says whether a status shows pods, as they are now.
func endpointsAre(c *v1alpha1.Memcached, pods map[string]*corev1.Pod) error {
	if len(c.Status.Endpoints) != len(pods) {
		return fmt.Errorf("%s shows %d endpoints, and has %d pods", c.Name, len(c.Status.Endpoints), len(pods))
	}
	for _, endpoint := range c.Status.Endpoints {
		pod := pods[endpoint.Pod]
		if pod == nil || !endpoint.Ready {
			return fmt.Errorf("%s shows %s as it was", c.Name, endpoint.Pod)
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == "memcached" && (status.State.Running == nil || !status.State.Running.StartedAt.Equal(endpoint.Since)) {
				return fmt.Errorf("%s shows an earlier start of %s", c.Name, endpoint.Pod)
			}
		}
	}
	return nil
}

func (s *scene) applicationsAreReported() error {
	all, err := typed[appv1alpha1.Application](s, "applications")
	errs := []error{err}
	for _, a := range all {
		errs = append(errs, reported(a.Name, a.Generation, a.Status.Conditions))
	}
	return errors.Join(errs...)
}

// reported says whether the operator has nothing left to do for the newest spec.
func reported(name string, generation int64, conditions []metav1.Condition) error {
	for condition, done := range map[string]metav1.ConditionStatus{v1alpha1.ConditionProgressing: metav1.ConditionFalse, v1alpha1.ConditionDegraded: metav1.ConditionTrue} {
		if c := meta.FindStatusCondition(conditions, condition); c != nil && c.Status == done && c.ObservedGeneration == generation {
			return nil
		}
	}
	return fmt.Errorf("the operator is not done with %s", name)
}
