package testenv

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// Urgently runs await, which waits for what the operator does about a change that was just made, and fails the test if the operator was
// not faster than with a change that may wait for watch.StatusDelay.
//
// On a busy machine, everything may take that long. So the test creates a cache as well, whose Deployment the operator creates as soon as it
// can, and compares: what await waits for may take half of watch.StatusDelay longer than that Deployment.
func (e *Env) Urgently(await func()) {
	e.Helper()
	const control = "control"
	e.Create(testkit.MakeMemcached(control).Namespace(e.Namespace).Size(1).Obj())
	await()
	done := time.Now()
	var deployment *appsv1.Deployment
	e.Await("a Deployment for another cache", func(ctx context.Context) (err error) {
		deployment, err = Get[appsv1.Deployment](ctx, e, control)
		return err
	})
	// A creationTimestamp has no fractions of a second.
	if late := done.Truncate(time.Second).Sub(deployment.CreationTimestamp.Time); late > watch.StatusDelay/2 {
		e.Errorf("it was done %s later than the Deployment of a cache that was created at the same time", late)
	}
}
