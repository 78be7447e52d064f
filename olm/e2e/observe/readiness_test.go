package observe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/observe"
)

// server lists pods, and then sends events about them.
type server struct {
	client.WithWatch
	pods   []corev1.Pod
	events *watch.FakeWatcher
}

func (s server) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	pods := list.(*corev1.PodList)
	pods.Items, pods.ResourceVersion = s.pods, "7"
	return nil
}

func (s server) Watch(_ context.Context, _ client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.Raw == nil || asked.Raw.ResourceVersion != "7" || asked.Namespace != "default" {
		return nil, errors.New("what happens between the list and the watch is missed, or the watch is of other pods")
	}
	return s.events, nil
}

func pod(name string, ready bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}},
	}
}

func ending(name string) *corev1.Pod {
	p := pod(name, true)
	p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	return p
}

// seen is what a watch of two ready pods sees of events.
func seen(t *testing.T, events func(*watch.FakeWatcher)) (got observe.Seen, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := server{pods: []corev1.Pod{*pod("a", true), *pod("b", true)}, events: watch.NewFake()}
		w, startErr := observe.WatchPods(t.Context(), s, client.InNamespace("default"))
		if startErr != nil {
			t.Fatal(startErr)
		}
		events(s.events)
		synctest.Wait()
		got, err = w.Stop()
	})
	return got, err
}

func TestWhatHappensToPodsIsSeen(t *testing.T) {
	for name, test := range map[string]struct {
		events      func(*watch.FakeWatcher)
		least, most int
	}{
		"nothing": {events: func(*watch.FakeWatcher) {}, least: 2, most: 2},
		"restarts one after the other": {events: func(w *watch.FakeWatcher) {
			for _, name := range []string{"b", "a"} {
				w.Modify(pod(name, false))
				w.Modify(pod(name, false))
				w.Modify(pod(name, true))
			}
		}, least: 1, most: 2},
		"restarts at the same time": {events: func(w *watch.FakeWatcher) {
			w.Modify(pod("a", false))
			w.Modify(pod("b", false))
			w.Modify(pod("a", true))
			w.Modify(pod("b", true))
		}, least: 0, most: 2},
		"a new pod before an old one goes": {events: func(w *watch.FakeWatcher) {
			w.Add(pod("c", false))
			w.Modify(pod("c", true))
			w.Modify(ending("a"))
			w.Delete(ending("a"))
		}, least: 2, most: 3},
		"an old pod goes before a new one comes": {events: func(w *watch.FakeWatcher) {
			w.Delete(ending("a"))
			w.Add(pod("c", true))
		}, least: 1, most: 2},
		"a pod that stays down": {events: func(w *watch.FakeWatcher) { w.Modify(pod("a", false)) }, least: 1, most: 2},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := seen(t, test.events)
			if err != nil {
				t.Fatal(err)
			}
			if want := (observe.Seen{Least: test.least, Most: test.most}); got != want {
				t.Errorf("seen %+v, want %+v", got, want)
			}
		})
	}
}

func TestAWatchThatTheServerEndsIsAnError(t *testing.T) {
	if _, err := seen(t, func(w *watch.FakeWatcher) { w.Stop() }); err == nil {
		t.Error("no error although events may be missing")
	}
	refused := &metav1.Status{Status: metav1.StatusFailure, Message: "too old resource version"}
	if _, err := seen(t, func(w *watch.FakeWatcher) { w.Error(refused) }); err == nil {
		t.Error("no error although the API server sent one")
	}
}
