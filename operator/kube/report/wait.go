package report

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// waitingStatus is a status that waits.
type waitingStatus struct {
	generation int64     // Of the object that it is about.
	since      time.Time // Of the first status of this generation that waited.
}

// wait returns for how long a status may wait, 0 if it is to be written now. A status that says no more than that a new spec is being
// applied waits for up to watch.StatusDelay: most changes have ended by then, and one status is enough.
func (r *Reporter) wait(o Outcome) time.Duration {
	name := client.ObjectKeyFromObject(o.Before)
	if o.Err != nil || !onlyProgress(o.Before, o.After.GetConditions()) {
		r.waiting.Delete(name)
		return 0
	}
	now := r.Clock.Now()
	known, _ := r.waiting.Load(name)
	waiting, ok := known.(waitingStatus)
	if !ok || waiting.generation != o.Before.GetGeneration() {
		waiting = waitingStatus{o.Before.GetGeneration(), now}
		r.waiting.Store(name, waiting)
	}
	return left(waiting.since.Add(watch.StatusDelay), now)
}

// onlyProgress reports whether conditions say no more than that the spec of an object, which no status is about yet, is being applied.
func onlyProgress(before Object, conditions []metav1.Condition) bool {
	if last := apimeta.FindStatusCondition(before.GetConditions(), v1alpha1.ConditionReady); last != nil && last.ObservedGeneration == before.GetGeneration() {
		return false
	}
	for _, condition := range conditions {
		switch condition.Type {
		case v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionProgressing:
		default:
			if condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == before.GetGeneration() {
				return false
			}
		}
	}
	return apimeta.IsStatusConditionTrue(conditions, v1alpha1.ConditionProgressing)
}
