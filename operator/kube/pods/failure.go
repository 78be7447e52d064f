package pods

import corev1 "k8s.io/api/core/v1"

// StartFailure is why a container does not start, and will not by itself.
type StartFailure struct {
	// OfImage is on when it is the image that is wrong.
	OfImage bool

	// Problem is what is wrong with the image or the container, for example "cannot be pulled (ImagePullBackOff)".
	Problem string
}

// startFailures are why a container waits. Names that alternate while nothing changes are made one, so that messages
// stay as they are.
var startFailures = map[string]StartFailure{
	"ErrImagePull":               {true, "cannot be pulled (ImagePullBackOff)"},
	"ImagePullBackOff":           {true, "cannot be pulled (ImagePullBackOff)"},
	"InvalidImageName":           {true, "has an invalid name (InvalidImageName)"},
	"ErrImageNeverPull":          {true, "is not on the machine (ErrImageNeverPull)"},
	"CreateContainerConfigError": {false, "cannot be created (CreateContainerError)"},
	"CreateContainerError":       {false, "cannot be created (CreateContainerError)"},
	"RunContainerError":          {false, "cannot be started (RunContainerError)"},
}

// StartFailureOf returns why a container does not start, if it does not. One that starts again and again is not meant.
func StartFailureOf(container corev1.ContainerStatus) (StartFailure, bool) {
	if container.State.Waiting == nil {
		return StartFailure{}, false
	}
	failure, fails := startFailures[container.State.Waiting.Reason]
	return failure, fails
}
