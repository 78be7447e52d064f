package inputs

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/kube/pods"
)

// PullAnnotation is on a pull pod, and holds the images that it pulls as the operator rendered them, by the names of the containers,
// in JSON. A pull pod makes sure that images are on a node before the containers of a cache there are stopped for them. Its own
// images are those that admission policies have made of them.
const PullAnnotation = "cache.example.com/pull"

// slowPull is how long an image may take to be pulled before the user is told that it may never be.
const slowPull = 2 * time.Minute

// PulledImages returns the images of a pull pod as the operator rendered them, by the names of the containers.
func PulledImages(pod *corev1.Pod) map[string]string {
	var images map[string]string
	if json.Unmarshal([]byte(pod.Annotations[PullAnnotation]), &images) != nil {
		return nil // It pulls nothing that anybody wants.
	}
	return images
}

// PullProblem is why an image is not on a node.
type PullProblem struct {
	// Message is a sentence without the node. It is empty while the image is being pulled as expected.
	Message string

	// OfImage is true if the image cannot be pulled, or takes long. Otherwise the pull pod cannot run.
	OfImage bool
}

// PullOf returns what keeps the images of a pull pod from being on its node. pulled is true if nothing does.
func PullOf(pod *corev1.Pod, now time.Time) (problem PullProblem, pulled bool) {
	for _, status := range pod.Status.ContainerStatuses {
		image := PulledImages(pod)[status.Name]
		if container := pods.Container(pod.Spec.Containers, status.Name); container != nil {
			image = container.Image
		}
		failure, fails := pods.StartFailureOf(status)
		switch ended := status.State.Terminated; {
		case fails:
			return PullProblem{fmt.Sprintf("the image %q %s", image, failure.Problem), failure.OfImage}, false
		case ended != nil && ended.ExitCode != 0:
			return PullProblem{fmt.Sprintf("the program in the image %q does not run: --version ends with exit code %d", image, ended.ExitCode), true}, false
		}
	}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return PullProblem{}, true
	case pod.Status.Phase == corev1.PodFailed:
		return PullProblem{fmt.Sprintf("pod %s, which pulls images, failed (%s): %s", pod.Name, pod.Status.Reason, pod.Status.Message), false}, false
	case now.Sub(pod.CreationTimestamp.Time) >= slowPull:
		return PullProblem{fmt.Sprintf("pod %s has been pulling images for more than %d minutes", pod.Name, slowPull/time.Minute), true}, false
	}
	return PullProblem{}, false
}
