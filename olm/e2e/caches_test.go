//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/walk"
	agentapi "github.com/example/memcached-operator/operator/agent/api"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/args"
)

// Ports of the pods of a cache.
const memcachedPort, metricsPort = args.Port, agentapi.MetricsPort

// ofCache selects the pods of a cache.
func ofCache(key types.NamespacedName) []client.ListOption {
	return []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": key.Name}}
}

// cachePods returns the pods of a cache that are not being deleted.
func cachePods(ctx context.Context, t *testing.T, key types.NamespacedName) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	must(t, suite.cluster.Client.List(ctx, &pods, ofCache(key)...))
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// onlyPodOf returns the pod of a cache of one pod.
func onlyPodOf(ctx context.Context, t *testing.T, cache string) *corev1.Pod {
	t.Helper()
	pods := cachePods(ctx, t, inDefault(cache))
	if len(pods) != 1 {
		t.Fatalf("%s has %d pods", cache, len(pods))
	}
	return &pods[0]
}

func containerRestarts(pod *corev1.Pod) map[string]int32 {
	restarts := map[string]int32{}
	for _, status := range pod.Status.ContainerStatuses {
		restarts[status.Name] = status.RestartCount
	}
	return restarts
}

// waitVersion waits until a cache is ready with this many pods, no other pod of it is left, and all run a version of memcached,
// according to the cache's status and to memcached itself.
func waitVersion(ctx context.Context, t *testing.T, key types.NamespacedName, size int, version string) {
	t.Helper()
	must(t, walk.Within(ctx, 3*time.Minute, fmt.Sprintf("every pod of %s to run memcached %s", key, version), func(ctx context.Context) error {
		var cache cachev1alpha1.Memcached
		if err := suite.cluster.Client.Get(ctx, key, &cache); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(cache.Status.Conditions, cachev1alpha1.ConditionReady)
		if ready == nil || ready.Status != "True" || ready.ObservedGeneration != cache.Generation || len(cache.Status.Endpoints) != size {
			return fmt.Errorf("%d endpoints, and Ready is %+v", len(cache.Status.Endpoints), ready)
		}
		for _, node := range cache.Status.Endpoints {
			if node.Version != version {
				return fmt.Errorf("the status reports that %s runs %q", node.Pod, node.Version)
			}
		}
		var pods corev1.PodList
		if err := suite.cluster.Client.List(ctx, &pods, ofCache(key)...); err != nil {
			return err
		}
		if len(pods.Items) != size {
			return fmt.Errorf("there are %d pods of it", len(pods.Items))
		}
		for i := range pods.Items {
			if got, err := memcachedVersion(ctx, &pods.Items[i]); err != nil || got != version {
				return fmt.Errorf("%s reports the version %q: %w", pods.Items[i].Name, got, err)
			}
		}
		return nil
	}))
}

// memcachedVersion asks the memcached of a pod for its version, in plain text.
func memcachedVersion(ctx context.Context, pod *corev1.Pod) (version string, err error) {
	address, stop, err := reach(ctx, pod, memcachedPort)
	if err != nil {
		return "", err
	}
	defer stop()
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = errors.Join(conn.SetDeadline(time.Now().Add(2*time.Second)), ask(conn, "version"))
	if err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(strings.TrimPrefix(line, "VERSION ")), err
}

func ask(conn net.Conn, command string) error {
	_, err := io.WriteString(conn, command+"\r\n")
	return err
}

// stateOf returns the state of memcached that the agent of a pod serves.
func stateOf(ctx context.Context, pod *corev1.Pod) (*agentapi.State, error) {
	address, stop, err := reach(ctx, pod, metricsPort)
	if err != nil {
		return nil, err
	}
	defer stop()
	return agentapi.Fetch(ctx, address)
}

// imageIn returns the image of a container of a pod, "" if the pod has no such container.
func imageIn(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// haveAgent returns nil if the pods of a cache have the agent's image, those without an agent excepted.
func haveAgent(ctx context.Context, key types.NamespacedName, image string) error {
	var list corev1.PodList
	if err := suite.cluster.Client.List(ctx, &list, ofCache(key)...); err != nil {
		return err
	}
	var old []error
	if len(list.Items) == 0 {
		old = append(old, errors.New(key.Name+" has no pod"))
	}
	for _, pod := range list.Items {
		if agent := imageIn(&pod, "agent"); agent != "" && agent != image {
			old = append(old, fmt.Errorf("the agent of %s is %s", pod.Name, agent))
		}
	}
	return errors.Join(old...)
}
