package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/walk"
)

// applicationTest tests an Application.
type applicationTest struct {
	objectTest
	// get requests a page and returns its status code.
	get func(ctx context.Context, url string) (int, error)
}

func newApplicationTest(cluster client.Client, example unstructured.Unstructured, get func(context.Context, string) (int, error)) *applicationTest {
	a := &applicationTest{objectTest: objectTest{cluster: cluster, object: example}, get: get}
	// Both have the Application's name. The example has an ingress, so the second exists too.
	name := metav1.ObjectMeta{Namespace: example.GetNamespace(), Name: example.GetName()}
	a.owned = []client.Object{&corev1.Service{ObjectMeta: name}, &networkingv1.Ingress{ObjectMeta: name}}
	a.inspect = a.replicas
	a.steps = []step{
		{"wait until it is ready", a.becomeReady},
		{"ask for a page through its Service", a.visit},
		{"scale it up", a.scaleUp},
		{"ask for the page again", a.visit},
	}
	return a
}

// replicas expects the status to count every pod.
func (a *applicationTest) replicas() (string, error) {
	ready, _, _ := unstructured.NestedInt64(a.object.Object, "status", "readyReplicas")
	if int(ready) != len(a.pods) {
		return "", fmt.Errorf("status.readyReplicas is %d, but %d pods are there", ready, len(a.pods))
	}
	url, _, _ := unstructured.NestedString(a.object.Object, "status", "url")
	return fmt.Sprintf("%d pods are ready, to be found at %s", ready, url), nil
}

// visit requests the page through the Service, which may take a moment to lead to a pod that has just become ready.
func (a *applicationTest) visit(ctx context.Context) (string, error) {
	var service corev1.Service
	if err := a.cluster.Get(ctx, client.ObjectKeyFromObject(&a.object), &service); err != nil {
		return "", fmt.Errorf("look for its Service: %w", err)
	}
	if len(service.Spec.Ports) == 0 {
		return "", errors.New("its Service has no port")
	}
	port := service.Spec.Ports[0].Port
	url := fmt.Sprintf("http://%s.%s.svc:%d/", service.Name, service.Namespace, port)
	err := walk.Within(ctx, patience, "the page to be served", func(ctx context.Context) error {
		status, err := a.get(ctx, url)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answers with status %d", url, status)
		}
		return err
	})
	if err != nil {
		return "", advice{err, fmt.Sprintf("does a network policy keep pods of this namespace from port %d?", port)}
	}
	return url + " answers", nil
}

// get uses a new connection for each request, so that two requests may reach two pods.
func get(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
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
