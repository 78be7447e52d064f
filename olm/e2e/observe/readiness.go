package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/pods"
)

// Seen is what a PodWatch has seen.
type Seen struct {
	// Least is the lowest number of pods that were ready at the same time.
	Least int
	// Most is the highest number of pods, ready or not, that existed at the same time.
	Most int
}

// PodWatch follows pods until it is stopped.
type PodWatch struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	// ready has every pod that exists, and whether it is ready.
	ready map[types.UID]bool
	seen  Seen
	err   error
}

// WatchPods starts to follow the pods that the options select.
func WatchPods(ctx context.Context, c client.WithWatch, options ...client.ListOption) (*PodWatch, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, options...); err != nil {
		return nil, fmt.Errorf("list the pods to follow: %w", err)
	}
	w := &PodWatch{ready: map[types.UID]bool{}}
	for i := range pods.Items {
		w.note(&pods.Items[i])
	}
	w.seen.Least = w.count()
	ctx, w.cancel = context.WithCancel(ctx)
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: pods.ResourceVersion}}
	events, err := c.Watch(ctx, &corev1.PodList{}, append(slices.Clone(options), from)...)
	if err != nil {
		w.cancel()
		return nil, fmt.Errorf("follow the pods: %w", err)
	}
	context.AfterFunc(ctx, events.Stop)
	w.ended.Go(func() { w.follow(ctx, events) })
	return w, nil
}

// Stop ends the watch and returns what it has seen. It returns an error if the API server ended the watch before: then the
// watch may have missed something.
func (w *PodWatch) Stop() (Seen, error) {
	w.cancel()
	w.ended.Wait()
	return w.seen, w.err
}

func (w *PodWatch) follow(ctx context.Context, events watch.Interface) {
	for event := range events.ResultChan() {
		switch {
		case ctx.Err() != nil:
			return
		case event.Type == watch.Error:
			w.err = fmt.Errorf("the API server has ended the watch of the pods: %w", apierrors.FromObject(event.Object))
			return
		}
		w.take(event)
	}
	if ctx.Err() == nil {
		w.err = errors.New("the API server has ended the watch of the pods")
	}
}

func (w *PodWatch) take(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	if event.Type == watch.Deleted {
		delete(w.ready, pod.UID)
	} else {
		w.note(pod)
	}
	w.seen.Least = min(w.seen.Least, w.count())
}

// note records whether a pod is ready.
func (w *PodWatch) note(pod *corev1.Pod) {
	w.ready[pod.UID] = pod.DeletionTimestamp == nil && pods.Ready(pod)
	w.seen.Most = max(w.seen.Most, len(w.ready))
}

func (w *PodWatch) count() int {
	count := 0
	for _, ready := range w.ready {
		if ready {
			count++
		}
	}
	return count
}
