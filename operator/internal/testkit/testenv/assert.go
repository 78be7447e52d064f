package testenv

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/watch"
)

// AssertQuiet annotates the given objects, which concerns nobody, waits until the operator has reconciled them, and fails
// if it wrote anything or read anything live.
func (e *Env) AssertQuiet(objects ...client.Object) {
	e.Helper()
	traffic := e.Operator.Traffic
	writes, reads := len(traffic.Writes()), len(traffic.LiveReads())
	before := e.reconciles()
	for round := range 2 {
		for _, object := range objects {
			e.Edit(object, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, round))
		}
		e.awaitReconciles(before + float64(round) + 1)
	}
	if now := traffic.Writes(); len(now) != writes {
		e.Errorf("writes although nothing had to change: %v", now[writes:])
	}
	if now := traffic.LiveReads(); len(now) != reads {
		e.Errorf("live reads although nothing had to change: %v", now[reads:])
	}
}

// AssertWrites fails unless the operator wrote as often as it has to since a change: want times, one of which is the status at the end. If
// the end takes long, there may be a status more for each watch.StatusDelay before it.
func (e *Env) AssertWrites(want int, changed time.Time, writes []cluster.Request) {
	e.Helper()
	var statuses []cluster.Request
	for _, write := range writes {
		if strings.HasSuffix(write.Path, "/status") {
			statuses = append(statuses, write)
		}
	}
	if len(statuses) == 0 || len(writes)-len(statuses) != want-1 {
		e.Fatalf("%d writes and %d statuses, want %d and at least one: %v", len(writes)-len(statuses), len(statuses), want-1, writes)
	}
	before := changed
	for _, status := range statuses[:len(statuses)-1] {
		// A report that is due within a twentieth of the delay does not wait (package report).
		if after := status.Sent.Sub(before); after < watch.StatusDelay*19/20 {
			e.Errorf("a status that is not the last was written %s after the change or the status before: %v", after, writes)
		}
		before = status.Sent
	}
}

// AssertRestartWritesNothing fails if an operator that has just been started writes anything, although the given objects
// are as they should be.
func (e *Env) AssertRestartWritesNothing(objects ...client.Object) {
	e.Helper()
	e.RestartOperator()
	e.AssertQuiet(objects...)
	if writes := e.Operator.Traffic.Writes(); len(writes) > 0 {
		e.Errorf("the restarted operator wrote %v", writes)
	}
}

// AssertWatchesOnlyOurs fails if the operator watches objects of others, apart from the kinds of its own API.
func (e *Env) AssertWatchesOnlyOurs() {
	e.Helper()
	watched := map[string]string{}
	for _, request := range e.Operator.Traffic.Watches() {
		watched[path.Base(request.Path)] = request.Query.Get("labelSelector")
	}
	const ours = "app.kubernetes.io/managed-by=memcached-operator"
	want := map[string]string{
		"memcacheds": "", "applications": "", "deployments": ours, "statefulsets": ours, "services": ours, "pods": ours,
		"networkpolicies": ours, "poddisruptionbudgets": ours, "ingresses": ours,
	}
	if _, found := watched["controllerrevisions"]; found { // From the first Memcached on.
		want["controllerrevisions"] = ours
	}
	if difference := cmp.Diff(want, watched); difference != "" {
		e.Errorf("watched kinds and their selectors (-want +got):\n%s", difference)
	}
}

// ScaleFromOne sets the replicas of an object through its subresource scale. It fails unless that says one replica before,
// and its selector finds one pod.
func (e *Env) ScaleFromOne(object client.Object, replicas int32) {
	e.Helper()
	scale := &autoscalingv1.Scale{}
	if err := cluster.Client.SubResource("scale").Get(e.Context(), object, scale); err != nil {
		e.Fatal(err)
	}
	if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 {
		e.Errorf("scale is %+v", scale)
	}
	selector, err := metav1.ParseToLabelSelector(scale.Status.Selector)
	if err != nil {
		e.Fatal(err)
	}
	if pods, err := e.Pods(e.Context(), selector.MatchLabels); err != nil || len(pods) != 1 {
		e.Errorf("the selector %q finds %d pods: %v", scale.Status.Selector, len(pods), err)
	}
	scale.Spec.Replicas = replicas
	if err := cluster.Client.SubResource("scale").Update(e.Context(), object, client.WithSubResourceBody(scale)); err != nil {
		e.Fatal(err)
	}
}
