//go:build e2e

package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
)

// A cache moves from a Deployment to a StatefulSet and back. At no time fewer pods are ready than wanted.
func moved(t *testing.T) {
	p := produce(t, "moved", 2, "workload: Deployment")
	for _, move := range []struct {
		name, spec string
		goes       client.Object
	}{
		{"to a StatefulSet", `{"workload":"StatefulSet"}`, &appsv1.Deployment{}},
		{"back to a Deployment", `{"workload":"Deployment"}`, &appsv1.StatefulSet{}},
	} {
		t.Run(move.name, func(t *testing.T) { p.in(t).moves(move.spec, move.goes) })
	}
}

// moves changes the workload, and waits until the previous one is gone.
func (p *production) moves(spec string, goes client.Object) {
	t := p.t
	pods, err := observe.WatchPods(t.Context(), suite.cluster.Client, ofCache(p.key)...)
	must(t, err)
	p.patch(spec)
	must(t, walk.Within(t.Context(), 2*time.Minute, "the previous workload to be gone", func(ctx context.Context) error {
		err := suite.cluster.Client.Get(ctx, p.key, goes)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is still there")
		}
		return err
	}))
	p.ready(time.Minute)
	seen, err := pods.Stop()
	must(t, err)
	if seen.Least < int(p.size) {
		t.Errorf("only %d of %d pods were ready at a time", seen.Least, p.size)
	}
	t.Logf("at least %d of %d pods were ready, and at most %d existed", seen.Least, p.size, seen.Most)
}
