package inputs

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/kube/pods"
)

// The annotations of a pull pod. A pull pod makes sure that an image is on a node before a container of a cache there is stopped for
// it. Its own image is the one that admission policies have made of it.
const (
	// PullAnnotation holds the name of the container that is to get the image, and the image as the operator rendered it, in JSON.
	PullAnnotation = "cache.example.com/pull"

	// PullProblemAnnotation holds the PullProblem of an earlier pull pod of that name, in JSON. It counts until this one has ended.
	PullProblemAnnotation = "cache.example.com/pull-problem"
)

// slowPull is how long an image may take to be pulled before the user is told that it may never be.
const slowPull = 2 * time.Minute

// Pulled is what a pull pod pulls.
type Pulled struct {
	Container string `json:"container"`
	Image     string `json:"image"`
}

// PulledBy returns what a pull pod pulls, the zero value if that cannot be read: then nobody wants it.
func PulledBy(pod *corev1.Pod) Pulled {
	var pulled Pulled
	if json.Unmarshal([]byte(pod.Annotations[PullAnnotation]), &pulled) != nil {
		return Pulled{}
	}
	return pulled
}

// PullProblem is why an image is not on a node.
type PullProblem struct {
	// Message is a sentence without the node. It is empty while the image is being pulled as expected.
	Message string
	// Refused is true if the pull pod cannot be created, and Slow if it still pulls.
	Refused, Slow bool
}

// PullOf returns what keeps the image of a pull pod from being on its node. pulled is true if nothing does. Only the container that
// pulls the image counts: an admission policy may have added others.
func PullOf(pod *corev1.Pod, now time.Time) (problem PullProblem, pulled bool) {
	name := PulledBy(pod).Container
	container := pods.Container(pod.Spec.Containers, name)
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != name || container == nil {
			continue
		}
		failure := pods.StartFailure(*container, status)
		switch ended := status.State.Terminated; {
		case failure != "":
			return PullProblem{Message: failure}, false
		case ended != nil && ended.ExitCode == 0:
			return PullProblem{}, true
		case ended != nil:
			return PullProblem{Message: fmt.Sprintf("the program in the image %q does not run: --version ends with exit code %d", container.Image, ended.ExitCode)}, false
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return PullProblem{Message: fmt.Sprintf("pod %s, which pulls an image, failed (%s): %s", pod.Name, pod.Status.Reason, pod.Status.Message)}, false
	}
	if json.Unmarshal([]byte(pod.Annotations[PullProblemAnnotation]), &problem) == nil && problem.Message != "" {
		problem.Slow = true
		return problem, false
	}
	if now.Sub(pod.CreationTimestamp.Time) >= slowPull {
		return PullProblem{Message: fmt.Sprintf("pod %s has been pulling an image for more than %d minutes", pod.Name, slowPull/time.Minute), Slow: true}, false
	}
	return PullProblem{}, false
}

// PullEnded reports whether a pull pod was ended from outside, for example with its node: nothing pulls its image any more, and that
// says nothing about the image.
func PullEnded(pod *corev1.Pod) bool {
	const lastOfProgram = 127 // Higher exit codes are those of signals, and of containers that were lost.
	name := PulledBy(pod).Container
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil && status.Name == name {
			return ended.ExitCode > lastOfProgram
		}
	}
	return pod.Status.Phase == corev1.PodFailed
}
