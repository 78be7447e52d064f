package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/memcached/args"
)

// cacheTest tests a Memcached.
type cacheTest struct {
	objectTest
	// dial opens a memcached server by host and port.
	dial func(address string) server
	// stored are the pods that were given an item.
	stored []corev1.Pod
}

func newCacheTest(cluster client.Client, example unstructured.Unstructured, dial func(address string) server) *cacheTest {
	c := &cacheTest{objectTest: objectTest{cluster: cluster, object: example}, dial: dial}
	c.inspect = c.nodes
	c.steps = []step{
		{"wait until it is ready", c.becomeReady},
		{"store and read a key on every server", c.storeAndRead},
		{"scale it up", c.scaleUp},
		{"read the keys again", c.readAgain},
	}
	return c
}

// nodes expects the status to name every pod.
func (c *cacheTest) nodes() (string, error) {
	nodes, _, _ := unstructured.NestedStringSlice(c.object.Object, "status", "nodes")
	if len(nodes) != len(c.pods) {
		return "", fmt.Errorf("status.nodes has %d names, but %d pods are there: %v", len(nodes), len(c.pods), nodes)
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

func (c *cacheTest) storeAndRead(ctx context.Context) (string, error) {
	c.stored = c.pods
	return c.onEach(ctx, c.stored, func(s server, pod corev1.Pod) error {
		if err := s.Set(&memcache.Item{Key: "greeting", Value: []byte(pod.Name)}); err != nil {
			return fmt.Errorf("set on %s: %w", pod.Name, err)
		}
		return read(s, pod)
	})
}

// readAgain expects every server to have the item that it stored.
func (c *cacheTest) readAgain(ctx context.Context) (string, error) {
	return c.onEach(ctx, c.stored, read)
}

// read expects the item that storeAndRead stored on this server.
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

func (c *cacheTest) onEach(ctx context.Context, pods []corev1.Pod, do func(server, corev1.Pod) error) (string, error) {
	for _, pod := range pods {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		s := c.dial(net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(args.Port)))
		err := do(s, pod)
		if closed := s.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close the connection to %s: %w", pod.Name, closed)
		}
		if err != nil {
			return "", advice{err, "does a network policy keep pods of this namespace from port 11211?"}
		}
	}
	return fmt.Sprintf("on %d servers", len(pods)), nil
}
