package testenv

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// Urgently runs await, which waits for what the operator does about a change that was just made, and fails the test if the operator was
// not faster than with a change that may wait for watch.StatusDelay.
//
// On a busy machine, everything may take that long. So the test creates a cache as well, whose objects the operator creates as soon as it
// can, and compares: what await waits for may be requested half of watch.StatusDelay after the last of these objects. A request that the API
// server refused with a conflict, and that the operator repeated, counts: other controllers may keep changing the object.
func (e *Env) Urgently(await func()) {
	e.Helper()
	const other = "other-cache"
	before := len(e.Operator.Traffic.Writes())
	writes := func() []cluster.Request { return e.Operator.Traffic.Writes()[before:] }
	e.Create(testkit.MakeMemcached(other).Namespace(e.Namespace).Size(1).Obj())
	await()
	done := slices.DeleteFunc(writes(), func(r cluster.Request) bool { return strings.Contains(r.Path, "/"+other) })
	if len(done) == 0 {
		return // The operator was faster than this test.
	}
	first := done[len(done)-1]
	for _, request := range slices.Backward(done) {
		if request.Method == first.Method && request.Path == first.Path && request.Code == http.StatusConflict {
			first = request
		}
	}
	var created cluster.Request
	e.Await("the last object of another cache", func(context.Context) error {
		all := writes()
		index := slices.IndexFunc(all, func(r cluster.Request) bool { return strings.HasSuffix(r.Path, "/secrets/"+other+"-binding") })
		if index < 0 {
			return errors.New("its Secret is missing")
		}
		created = all[index]
		return nil
	})
	if late := first.Sent.Sub(created.Sent); late > watch.StatusDelay/2 {
		e.Errorf("%s came %s later than the last object of a cache that was created at the same time", first, late.Round(time.Millisecond))
	}
}
