package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// applicationWalk is the walk with an Application.
type applicationWalk struct {
	walk
	// get asks for a page and returns its status code.
	get func(ctx context.Context, url string) (int, error)
}

func newApplicationWalk(cluster client.Client, example unstructured.Unstructured, get func(context.Context, string) (int, error)) *applicationWalk {
	// Both have the Application's own name; the example has an ingress, so the second is there too.
	name := metav1.ObjectMeta{Namespace: example.GetNamespace(), Name: example.GetName()}
	w := &applicationWalk{
		walk: walk{
			cluster: cluster, object: example,
			owned: []client.Object{&corev1.Service{ObjectMeta: name}, &networkingv1.Ingress{ObjectMeta: name}},
		},
		get: get,
	}
	w.inspect = w.replicas
	return w
}

func (w *applicationWalk) run(ctx context.Context) []v1alpha3.TestResult {
	return w.walk.run(ctx,
		step{"ask for a page through its Service", w.visit},
		step{"scale it up", w.scaleUp},
		step{"ask for the page again", w.visit},
	)
}

// replicas expects the status to count every pod.
func (w *applicationWalk) replicas() (string, error) {
	ready, _, _ := unstructured.NestedInt64(w.object.Object, "status", "readyReplicas")
	if int(ready) != len(w.pods) {
		return "", fmt.Errorf("status.readyReplicas is %d, but %d pods are there", ready, len(w.pods))
	}
	url, _, _ := unstructured.NestedString(w.object.Object, "status", "url")
	return fmt.Sprintf("%d pods are ready, to be found at %s", ready, url), nil
}

// visit asks through the Service, for which a pod that has just become ready may take a moment.
func (w *applicationWalk) visit(ctx context.Context) (string, error) {
	var service corev1.Service
	if err := w.cluster.Get(ctx, client.ObjectKeyFromObject(&w.object), &service); err != nil {
		return "", fmt.Errorf("look for its Service: %w", err)
	}
	if len(service.Spec.Ports) == 0 {
		return "", errors.New("its Service has no port")
	}
	port := service.Spec.Ports[0].Port
	url := fmt.Sprintf("http://%s.%s.svc:%d/", service.Name, service.Namespace, port)
	err := w.until(ctx, func(ctx context.Context) error {
		status, err := w.get(ctx, url)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answers with status %d", url, status)
		}
		return err
	})
	if err != nil {
		return "", advise(err, fmt.Sprintf("does a network policy keep pods of this namespace from port %d?", port))
	}
	return url + " answers", nil
}

// get asks on a connection of its own, so that two requests may reach two pods.
func get(ctx context.Context, url string) (int, error) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("ask for %s: %w", url, err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
