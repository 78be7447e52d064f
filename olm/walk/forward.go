package walk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Forward opens a port on this machine that leads to a TCP port of the pod. It goes through
// the API server, so that it works on clusters whose pod network is not reachable from here.
// The address is host:port; stop ends the forwarding and waits for its end.
func (c *Cluster) Forward(ctx context.Context, pod types.NamespacedName, port int) (address string, stop func(), err error) {
	clientset, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return "", nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(c.Config)
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
	failed, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		failed <- forwarder.ForwardPorts()
	}()
	select {
	case <-ready:
	case err := <-failed:
		return "", nil, fmt.Errorf("forward a port to pod %s: %w: %s", pod, err, problems.String())
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
