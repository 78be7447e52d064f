package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// soon is when to check again something that is not watched: what an agent reports.
	soon = 2 * time.Second

	// later is when to check again something that is watched.
	later = 10 * time.Second
)

// Kind is what a step does.
type Kind string

const (
	// None means that all pods exist and are up to date.
	None Kind = "None"

	// Wait means that something has to happen first.
	Wait Kind = "Wait"

	// Patch changes a running pod.
	Patch Kind = "Patch"

	// Resize changes the resources of a running pod (the subresource pods/resize).
	Resize Kind = "Resize"

	// Replace removes a pod, so that Kubernetes creates it again from the template.
	Replace Kind = "Replace"
)

// Step is what to do next.
type Step struct {
	// Kind is what to do.
	Kind Kind
	// Pod is the pod that the step changes or waits for, as it was observed; nil if there is none.
	Pod *corev1.Pod
	// Message tells the user what is done or waited for.
	Message string
	// After is when to reconcile again if no watched object changes before: what agents report is not watched. It is 0 for None.
	After time.Duration
	// Stuck is true for a Wait that will not end by itself, or has not ended for ten minutes. It is false for a pod that is
	// yet to be created: nothing says since when the pod is missing, and workload.CreateFailure says why it cannot be created.
	Stuck bool
	// Patch is the strategic merge patch of a Patch or Resize. It applies only to the pod as it was observed.
	Patch []byte
	// Finishes is true for a Patch after which the pod is up to date.
	Finishes bool
	// Ignores is true for a step that tells the user that what they asked for is not done.
	Ignores bool
	// Unready is true for a Replace of a pod that is not ready: it serves no clients, or it is degraded. No
	// PodDisruptionBudget has to allow its replacement.
	Unready bool
}
