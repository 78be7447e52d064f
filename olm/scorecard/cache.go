package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// port is where memcached listens.
const port = 11211

// cacheWalk is the walk with a Memcached.
type cacheWalk struct {
	walk
	// dial opens a memcached server by host and port.
	dial func(address string) server
	// stored are the pods that were given an item.
	stored []corev1.Pod
}

func newCacheWalk(cluster client.Client, example unstructured.Unstructured, dial func(address string) server) *cacheWalk {
	w := &cacheWalk{walk: walk{cluster: cluster, object: example}, dial: dial}
	w.inspect = w.nodes
	return w
}

func (w *cacheWalk) run(ctx context.Context) []v1alpha3.TestResult {
	return w.walk.run(ctx,
		step{"store and read a key on every server", w.storeAndRead},
		step{"scale it up", w.scaleUp},
		step{"read the keys again", w.readAgain},
	)
}

// nodes expects the status to name every pod.
func (w *cacheWalk) nodes() (string, error) {
	nodes, _, _ := unstructured.NestedStringSlice(w.object.Object, "status", "nodes")
	if len(nodes) != len(w.pods) {
		return "", fmt.Errorf("status.nodes has %d names, but %d pods are there: %v", len(nodes), len(w.pods), nodes)
	}
	return fmt.Sprintf("ready with %v", nodes), nil
}

// server is one memcached server.
type server interface {
	Set(item *memcache.Item) error
	Get(key string) (*memcache.Item, error)
	Close() error
}

func dial(address string) server {
	c := memcache.New(address)
	c.Timeout = 10 * time.Second
	return c
}

func (w *cacheWalk) storeAndRead(ctx context.Context) (string, error) {
	w.stored = w.pods
	return w.onEach(ctx, w.stored, func(s server, pod corev1.Pod) error {
		if err := s.Set(&memcache.Item{Key: "greeting", Value: []byte(pod.Name)}); err != nil {
			return fmt.Errorf("set on %s: %w", pod.Name, err)
		}
		return read(s, pod)
	})
}

// readAgain expects every server that stored an item to have it still.
func (w *cacheWalk) readAgain(ctx context.Context) (string, error) {
	return w.onEach(ctx, w.stored, read)
}

// read expects the item that storeAndRead has left on this server and no other.
func read(s server, pod corev1.Pod) error {
	item, err := s.Get("greeting")
	if err != nil {
		return fmt.Errorf("get from %s: %w", pod.Name, err)
	}
	if got := string(item.Value); got != pod.Name {
		return fmt.Errorf("get from %s: stored %q, read %q", pod.Name, pod.Name, got)
	}
	return nil
}

func (w *cacheWalk) onEach(ctx context.Context, pods []corev1.Pod, do func(server, corev1.Pod) error) (string, error) {
	for _, pod := range pods {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		s := w.dial(net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port)))
		err := do(s, pod)
		if closed := s.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close the connection to %s: %w", pod.Name, closed)
		}
		if err != nil {
			return "", advise(err, "does a network policy keep pods of this namespace from port 11211?")
		}
	}
	return fmt.Sprintf("on %d servers", len(pods)), nil
}
