//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/olm/walk"
)

// startBound creates an Application that names a cache, then the cache, and waits until it counts visits.
func startBound(t *testing.T) boundApplication {
	t.Helper()
	image, err := webImage()
	must(t, err)
	ctx := t.Context()
	const name = "counting"
	makeApplication(t, "default", name, webSpec(image, `,"replicas":2,"caches":[{"name":"example-memcached"}]`))
	waitReason(t, "default", name, "CacheNotFound")
	waitRollout(t, "default", name)
	waitAvailable(t, "default", name)
	contains(t, kubectl(ctx, t, "get", "application", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`), "example-memcached")
	if got := visit(t, name); !strings.Contains(got.Problem, "no cache found") {
		t.Errorf("without a cache the page says %+v", got)
	}

	bound := boundApplication{name: name, pods: podsOf(t, name)}
	kubectl(ctx, t, "apply", "-n", "default", "-f", sample("example-memcached.yaml"))
	_, err = suite.cluster.WaitReady(ctx, inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)
	waitReady(t, "default", name)
	// The cluster's DNS caches for half a minute that a name does not exist.
	must(t, walk.Within(ctx, time.Minute, "the cache to be found", func(context.Context) error {
		if got := visit(t, name); got.Problem != "" {
			return errors.New(got.Problem)
		}
		return nil
	}))
	bound.countsInAllPods(t)
	bound.isUntouched(t)
	return bound
}

// boundApplication is an Application with the pods that it had before its cache was created.
type boundApplication struct {
	name, pods string
}

// page is an answer of the web application.
type page struct {
	Pod     string
	Visits  int
	Problem string
}

// countsInAllPods visits until both pods have answered. They share the count, because it is in the cache.
func (b boundApplication) countsInAllPods(t *testing.T) {
	t.Helper()
	answered, last := map[string]bool{}, 0
	for deadline := time.Now().Add(30 * time.Second); len(answered) < 2; {
		got := visit(t, b.name)
		switch {
		case got.Problem != "": // It gives memcached a second, which may be too short on a busy machine.
			t.Logf("after visit %d the page says %+v", last, got)
		case got.Visits <= last:
			t.Fatalf("after visit %d the page says %+v", last, got)
		default:
			answered[got.Pod], last = true, got.Visits
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v answered within 30 s", answered)
		}
	}
}

// isUntouched expects the pods from before the cache was created, without a restart.
func (b boundApplication) isUntouched(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(b.pods, podsOf(t, b.name)); diff != "" {
		t.Errorf("the cache disturbed the pods (-before +after: UID and restarts):\n%s", diff)
	}
}

func (b boundApplication) hasBinding(t *testing.T) {
	must(t, walk.Within(t.Context(), 3*time.Minute, "the binding in the pods", func(ctx context.Context) error {
		got, err := suite.cluster.Kubectl(ctx, "get", "--raw", servicePath("default", b.name)+"binding")
		if err != nil {
			return err
		}
		var bindings map[string]map[string]string
		if err := json.Unmarshal([]byte(got), &bindings); err != nil {
			return fmt.Errorf("%q: %w", got, err)
		}
		want := map[string]map[string]string{"example-memcached": {
			"type": "memcached", "provider": walk.Package, "host": "example-memcached-nodes.default.svc", "port": "11211", "uri": "(not shown)",
		}}
		if diff := cmp.Diff(want, bindings); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	}))
	b.isUntouched(t)
}

func (b boundApplication) losesItsCache(t *testing.T) {
	kubectl(t.Context(), t, "delete", "memcached", "example-memcached", "-n", "default", "--cascade=foreground", "--timeout=60s")
	waitReason(t, "default", b.name, "CacheNotFound")
	if got := visit(t, b.name); got.Problem == "" {
		t.Errorf("without a cache the page says %+v", got)
	}
	b.isUntouched(t)
}
