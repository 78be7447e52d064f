package pods

import corev1 "k8s.io/api/core/v1"

// StartFailure is a reason why a container does not start that does not resolve by itself.
type StartFailure struct {
	// OfImage is true if the image is the cause.
	OfImage bool

	// Problem completes a sentence about the image or the container, for example "cannot be pulled (ImagePullBackOff)".
	Problem string
}

// startFailures maps reasons of waiting containers. Reasons that alternate for the same cause have the same text, so
// that messages are stable.
var startFailures = map[string]StartFailure{
	"ErrImagePull":               {true, "cannot be pulled (ImagePullBackOff)"},
	"ImagePullBackOff":           {true, "cannot be pulled (ImagePullBackOff)"},
	"InvalidImageName":           {true, "has an invalid name (InvalidImageName)"},
	"ErrImageNeverPull":          {true, "is not on the node (ErrImageNeverPull)"},
	"CreateContainerConfigError": {false, "cannot be created (CreateContainerError)"},
	"CreateContainerError":       {false, "cannot be created (CreateContainerError)"},
	"RunContainerError":          {false, "cannot be started (RunContainerError)"},
}

// StartFailureOf returns why a container does not start. The second result is false if it starts, or keeps exiting.
func StartFailureOf(container corev1.ContainerStatus) (StartFailure, bool) {
	if container.State.Waiting == nil {
		return StartFailure{}, false
	}
	failure, fails := startFailures[container.State.Waiting.Reason]
	return failure, fails
}
