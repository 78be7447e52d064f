package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// startFailures complete a sentence about an image, or about a container with an image, by the reasons of waiting containers. Reasons
// that alternate for the same cause have the same text, so that messages are stable.
var (
	imageFailures = map[string]string{
		"ErrImagePull":      "cannot be pulled (ImagePullBackOff)",
		"ImagePullBackOff":  "cannot be pulled (ImagePullBackOff)",
		"InvalidImageName":  "has an invalid name (InvalidImageName)",
		"ErrImageNeverPull": "is not on the node (ErrImageNeverPull)",
	}
	startFailures = map[string]string{
		"CreateContainerConfigError": "cannot be created (CreateContainerError)",
		"CreateContainerError":       "cannot be created (CreateContainerError)",
		"RunContainerError":          "cannot be started (RunContainerError)",
	}
)

// StartFailure returns why a container does not start and will not by itself, empty if it starts or keeps exiting.
func StartFailure(container corev1.Container, status corev1.ContainerStatus) string {
	if status.State.Waiting == nil {
		return ""
	}
	if problem := imageFailures[status.State.Waiting.Reason]; problem != "" {
		return fmt.Sprintf("the image %q of container %s %s", container.Image, container.Name, problem)
	}
	if problem := startFailures[status.State.Waiting.Reason]; problem != "" {
		return fmt.Sprintf("with image %q, container %s %s", container.Image, container.Name, problem)
	}
	return ""
}
