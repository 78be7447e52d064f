//go:build faults

package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// unreadyTime is how long a pod is not ready.
const unreadyTime = 2 * time.Second

// listsPods matches the requests with which the operator makes sure that the pods of a StatefulSet are still those that it has decided on.
func listsPods(c inject.Call) bool { return c.Verb == "list" && c.Object == "pods" }

// unready lets the first pod of a cache fail when the operator has decided what to do with another one. Some time later it is ready again.
func unready(s *scene, call inject.Call) func() int {
	return s.injector.On(inject.Is(call), inject.Before(func() {
		s.setReady("cache-0", corev1.ConditionFalse)
		s.later(unreadyTime, func() { s.setReady("cache-0", corev1.ConditionTrue) })
	}))
}

// setReady makes a pod ready or not, as the kubelet does.
func (s *scene) setReady(name string, status corev1.ConditionStatus) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`, status, time.Now().UTC().Format(time.RFC3339))
	err := cluster.Client.Status().Patch(s.Context(), pod, client.RawPatch("application/strategic-merge-patch+json", []byte(patch)))
	if client.IgnoreNotFound(err) != nil && s.Context().Err() == nil {
		s.Errorf("the kubelet: %v", err)
	}
}

// ofPod matches the path of a pod, or of its eviction.
var ofPod = regexp.MustCompile(`/pods/([^/]+?)(/eviction)?$`)

// onePodAtATime notes when the operator restarts or removes a pod of a StatefulSet that is ready while another one is not: O7.
func (s *scene) onePodAtATime(next http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(request *http.Request) (*http.Response, error) {
		pod, err := takesDown(request)
		if err != nil {
			return nil, err
		}
		var down []string
		if pod != "" {
			if down, err = s.downBeside(request.Context(), pod); err != nil {
				return nil, err
			}
		}
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode < http.StatusBadRequest && len(down) > 0 {
			s.mutex.Lock()
			s.tookDown = append(s.tookDown, fmt.Sprintf("%s was restarted or removed while %s was not ready", pod, strings.Join(down, ", ")))
			s.mutex.Unlock()
		}
		return response, err
	})
}

// takesDown returns the name of the pod that a request restarts or removes, empty if it does neither.
func takesDown(request *http.Request) (string, error) {
	of := ofPod.FindStringSubmatch(request.URL.Path)
	if of == nil || request.URL.Query().Has("dryRun") {
		return "", nil
	}
	switch request.Method {
	case http.MethodDelete:
		return of[1], nil
	case http.MethodPost:
		if of[2] != "" {
			return of[1], nil
		}
	case http.MethodPatch:
		body, err := io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || bytes.Contains(body, []byte(`"image"`)) {
			return of[1], err
		}
	}
	return "", nil
}

// downBeside returns the pods that are not ready in the StatefulSet of a pod that is.
func (s *scene) downBeside(ctx context.Context, name string) (down []string, err error) {
	all := &corev1.PodList{}
	if err := cluster.Client.List(ctx, all, client.InNamespace(s.namespace)); err != nil {
		return nil, err
	}
	var set *metav1.OwnerReference
	for i := range all.Items {
		if pod := &all.Items[i]; pod.Name == name && isReady(pod) {
			set = metav1.GetControllerOf(pod)
		}
	}
	for i := range all.Items {
		if pod := &all.Items[i]; set != nil && pod.Name != name && !isReady(pod) {
			if owner := metav1.GetControllerOf(pod); owner != nil && owner.UID == set.UID && set.Kind == "StatefulSet" {
				down = append(down, pod.Name)
			}
		}
	}
	return down, nil
}
