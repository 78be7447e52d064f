package report

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// again returns for how long a reconcile that follows the last status is still to wait, 0 if there is none to follow. The operator's own
// status write causes no reconcile: see Wrote. One follows all the same if something that nothing is watched for may change the status: an
// agent that has not answered, events that say why pods are missing, and what the API server has refused. A reconcile in between does not
// take its place.
func (r *Reporter) again(o Outcome) time.Duration {
	name, now := client.ObjectKeyFromObject(o.Before), r.Clock.Now()
	if o.Before.GetResourceVersion() != o.After.GetResourceVersion() {
		r.due.Delete(name)
		if o.Err != nil || o.Unsettled || !apimeta.IsStatusConditionFalse(o.After.GetConditions(), v1alpha1.ConditionProgressing) {
			r.due.Store(name, now.Add(watch.StatusDelay))
		}
	}
	due, _ := r.due.Load(name)
	at, _ := due.(time.Time)
	wait := left(at, now)
	if wait == 0 {
		r.due.Delete(name)
	}
	return wait
}

// left returns how much of a wait that ends at a time is left, 0 if that is next to nothing: what an event has put off for as long is
// reconciled a little earlier, and that reconcile serves both.
func left(end, now time.Time) time.Duration {
	if wait := end.Sub(now); wait > watch.StatusDelay/20 {
		return wait
	}
	return 0
}
