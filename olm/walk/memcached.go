package walk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// memcachedPort is the port that memcached listens on in every pod of a cache.
const memcachedPort = 11211

// WaitReady waits until the cache reports Ready for its current spec with this many
// ready pods, and returns it as it then is.
func (c *Cluster) WaitReady(ctx context.Context, key types.NamespacedName, size int32, d time.Duration) (*cachev1alpha1.Memcached, error) {
	var cache cachev1alpha1.Memcached
	err := Within(ctx, d, fmt.Sprintf("cache %s to be ready with %d pods", key, size), func(ctx context.Context) error {
		if err := c.Client.Get(ctx, key, &cache); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(cache.Status.Conditions, cachev1alpha1.ConditionReady)
		switch {
		case ready == nil:
			return errors.New("no Ready condition yet")
		case ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != cache.Generation:
			return fmt.Errorf("condition Ready is %s for generation %d of %d: %s: %s", ready.Status, ready.ObservedGeneration, cache.Generation, ready.Reason, ready.Message)
		case cache.Status.ReadyReplicas != size || len(cache.Status.Nodes) != int(size):
			return fmt.Errorf("status has %d ready replicas and nodes %v", cache.Status.ReadyReplicas, cache.Status.Nodes)
		}
		return nil
	})
	return &cache, err
}

// Pods returns the names of the cache's pods that are not being deleted, sorted.
func (c *Cluster) Pods(ctx context.Context, key types.NamespacedName) ([]string, error) {
	var pods corev1.PodList
	labels := client.MatchingLabels{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": key.Name}
	if err := c.Client.List(ctx, &pods, client.InNamespace(key.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", key, err)
	}
	var names []string
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// StoreAndRead sets one item in the memcached of the pod and reads it back. The item's
// value names the pod, so that an answer of another pod is an error.
func (c *Cluster) StoreAndRead(ctx context.Context, pod types.NamespacedName) (value string, err error) {
	address, stop, err := c.Forward(ctx, pod, memcachedPort)
	if err != nil {
		return "", err
	}
	defer stop()
	server := memcache.New(address)
	server.Timeout = 5 * time.Second
	defer func() { err = errors.Join(err, server.Close()) }()

	want := "stored in " + pod.Name
	if err := server.Set(&memcache.Item{Key: "greeting", Value: []byte(want)}); err != nil {
		return "", fmt.Errorf("set in pod %s: %w", pod, err)
	}
	item, err := server.Get("greeting")
	if err != nil {
		return "", fmt.Errorf("get from pod %s: %w", pod, err)
	}
	if got := string(item.Value); got != want {
		return "", fmt.Errorf("pod %s: stored %q, read %q", pod, want, got)
	}
	return want, nil
}
