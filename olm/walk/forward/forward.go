// Package forward reaches pods through the API server, on clusters whose pod network is not reachable from this machine. It is
// apart from package walk because of its dependencies, which the scorecard's image does not need.
package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/example/memcached-operator/operator/memcached/args"
)

// Open opens a port on this machine that leads to a TCP port of the pod, and returns its address (host:port). stop ends the
// forwarding and waits until it has ended.
func Open(ctx context.Context, config *rest.Config, pod types.NamespacedName, port int) (address string, stop func(), err error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", nil, err
	}
	url := clientset.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	stopped, ready := make(chan struct{}), make(chan struct{})
	var problems bytes.Buffer
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf("0:%d", port)}, stopped, ready, io.Discard, &problems)
	if err != nil {
		return "", nil, err
	}
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failed = forwarder.ForwardPorts()
	}()
	select {
	case <-ready:
	case <-ended:
		return "", nil, fmt.Errorf("forward a port to pod %s: %w: %s", pod, failed, problems.String())
	case <-ctx.Done():
		close(stopped)
		return "", nil, ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		close(stopped)
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), func() { close(stopped); <-ended }, nil
}

// StoreAndRead sets an item in the memcached of the pod and reads it back. The item's value has the name of the pod, so that an
// answer of another pod is an error.
func StoreAndRead(ctx context.Context, config *rest.Config, pod types.NamespacedName) (value string, err error) {
	address, stop, err := Open(ctx, config, pod, args.Port)
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
