//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// What each server holds when it is upgraded.
const (
	warmItems    = 20_000
	warmItemSize = 512
)

// Pods get a new version of memcached in place, one by one, under load on all of them. No item is lost, and requests fail
// only to the pod that restarts.
func upgradedWarm(t *testing.T) {
	p := produce(t, "warm", 3, "workload: StatefulSet\nwarmRestart: true\nversion: 1.6.18")
	servers := p.servers(clients.Access{})
	p.storeAll(servers, warmItems, warmItemSize)
	p.use(servers)
	before := p.pods()
	seen := p.watch(before)
	ready, err := observe.WatchPods(t.Context(), suite.cluster.Client, ofCache(p.key)...)
	must(t, err)

	start := time.Now()
	p.patch(`{"image":"docker.io/library/memcached:1.6.38","version":"1.6.38"}`)
	must(t, walk.Within(t.Context(), 4*time.Minute, "every pod to run the new version", func(context.Context) error {
		return seen.upgraded("1.6.38")
	}))
	must(t, seen.ended())
	cache := p.ready(time.Minute)
	took := time.Since(start)

	p.same(before, "memcached")
	always, err := ready.Stop()
	must(t, err)
	if always.Least < len(servers)-1 {
		t.Errorf("only %d of %d pods were ready at a time", always.Least, len(servers))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n| pod | items kept | seconds until ready again | requests failed | for seconds |\n|---|---|---|---|---|\n")
	for i, server := range servers {
		name := p.podName(i)
		kept := warmItems - p.missing(server, warmItems, warmItemSize)
		if kept != warmItems {
			t.Errorf("%s kept %d of %d items", name, kept, warmItems)
		}
		outcome := server.Outcome()
		seen.only(t, name, outcome.Failed)
		fmt.Fprintf(&table, "| %s | %d of %d | %.1f | %d | %.1f |\n", name, kept, warmItems, seen.restart(name).Seconds(), len(outcome.Failed), outcome.Missed().Seconds())
		p.runs(cache.Status.Endpoints[i], server.Name(), "1.6.38")
	}
	t.Logf("1.6.18 → 1.6.38, %s for all:%s", took.Round(100*time.Millisecond), table.String())
	p.told(before)
}

// runs fails the test unless status and memcached report this version, and status reports that the items were kept.
func (p *production) runs(endpoint cachev1alpha1.MemcachedEndpoint, host, version string) {
	p.t.Helper()
	if endpoint.Host != host || endpoint.Items != cachev1alpha1.ItemsWarm || endpoint.Version != version || !endpoint.Ready {
		p.t.Errorf("status.endpoints says %+v of %s", endpoint, host)
	}
	conn, err := clients.Access{Network: p.network}.Open(p.t.Context(), host)
	must(p.t, err)
	answer, err := conn.Command("version")
	must(p.t, err)
	if answer != "VERSION "+version {
		p.t.Errorf("memcached in %s says %q", host, answer)
	}
	must(p.t, conn.Close())
}

// told fails the test unless there are events about each pod.
func (p *production) told(pods map[string]corev1.Pod) {
	p.t.Helper()
	events := kubectl(p.t.Context(), p.t, "get", "events", "-n", p.key.Namespace,
		"--field-selector", "involvedObject.kind=Memcached,reason=NodeUpdating,involvedObject.name="+p.key.Name, "-o", "jsonpath={.items[*].message}")
	for name := range pods {
		contains(p.t, events, name+" is changed in place", "memcached in "+name+" found its items again")
	}
}

// timeline records the states of a cache's pods in order.
type timeline struct {
	mutex sync.Mutex
	seen  []look
	err   error // Why the watch has ended.
}

// look is the state of a pod at a time.
type look struct {
	at   time.Time
	pod  *corev1.Pod
	gone bool
}

// watch records the states of the pods from now until the end of the test.
func (p *production) watch(now map[string]corev1.Pod) *timeline {
	p.t.Helper()
	line, ctx := &timeline{}, p.t.Context()
	for _, pod := range now {
		line.seen = append(line.seen, look{at: time.Now(), pod: pod.DeepCopy()})
	}
	watcher, err := suite.cluster.Client.Watch(ctx, &corev1.PodList{}, ofCache(p.key)...)
	must(p.t, err)
	p.t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			line.take(event)
		}
		if ctx.Err() == nil {
			line.end(errors.New("the API server has ended the watch of the pods"))
		}
	}()
	return line
}

func (l *timeline) take(event watch.Event) {
	if event.Type == watch.Error {
		l.end(fmt.Errorf("the API server has ended the watch of the pods: %w", apierrors.FromObject(event.Object)))
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if pod, ok := event.Object.(*corev1.Pod); ok {
		l.seen = append(l.seen, look{at: time.Now(), pod: pod, gone: event.Type == watch.Deleted})
	}
}

// end records why the watch has ended. The first reason counts.
func (l *timeline) end(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// ended returns why the watch has ended, nil if it has not. States are missing then.
func (l *timeline) ended() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.err
}

// looks returns the states so far.
func (l *timeline) looks() []look {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.seen)
}

// upgraded returns nil once every pod has an image of that tag and is ready after a restart. It also returns nil once a pod
// is gone, which fails the test later, or the watch has ended.
func (l *timeline) upgraded(tag string) error {
	if l.ended() != nil {
		return nil
	}
	last := map[string]look{}
	for _, look := range l.looks() {
		if look.gone {
			return nil
		}
		last[look.pod.Name] = look
	}
	for name, look := range last {
		switch {
		case !strings.HasSuffix(imageOf(look.pod), ":"+tag):
			return fmt.Errorf("%s has the image %s", name, imageOf(look.pod))
		case !pods.Ready(look.pod) || containerRestarts(look.pod)["memcached"] == 0:
			return fmt.Errorf("%s is restarting", name)
		}
	}
	return nil
}

func imageOf(pod *corev1.Pod) string { return imageIn(pod, "memcached") }

// window returns when a pod got its new image, and when it was ready again after that. A busy kubelet may report a restart
// only when it is over. Then the number of restarts shows it.
func (l *timeline) window(name string) (patched, ready time.Time) {
	image, restarts, down := "", int32(0), false
	for _, look := range l.looks() {
		if look.pod.Name != name {
			continue
		}
		if image != "" && imageOf(look.pod) != image {
			patched = look.at
		}
		image = imageOf(look.pod)
		restarted := containerRestarts(look.pod)["memcached"] > restarts
		restarts = containerRestarts(look.pod)["memcached"]
		switch {
		case patched.IsZero():
		case !pods.Ready(look.pod):
			down = true
		case down || restarted:
			down, ready = false, look.at
		}
	}
	return patched, ready
}

// restart returns the time from a pod's new image until it was ready again.
func (l *timeline) restart(name string) time.Duration {
	patched, ready := l.window(name)
	return ready.Sub(patched)
}

// only fails the test if requests to a pod failed while it did not restart.
func (l *timeline) only(t *testing.T, name string, failed []time.Time) {
	t.Helper()
	// Events arrive a moment after the change.
	const moment = time.Second
	patched, ready := l.window(name)
	if patched.IsZero() || ready.IsZero() {
		t.Errorf("%s was not seen to restart: image at %s, ready at %s", name, patched, ready)
	}
	for _, at := range failed {
		if at.Before(patched.Add(-moment)) || at.After(ready.Add(moment)) {
			t.Errorf("a request to %s failed at %s, but it restarted from %s to %s", name, at, patched, ready)
		}
	}
}
