package workload

import (
	"encoding/json"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
)

// RenderingAnnotation holds the Rendering of a Deployment, in JSON. It is on the Deployment and not on its pods, so that it replaces
// none, and is written together with the template, so that no answer can be lost between the two. It is missing on a Deployment of a
// release before 0.4.0 until the operator has another reason to write that.
const RenderingAnnotation = "cache.example.com/rendering"

// Rendering says what the pod template of a Deployment was rendered from, and who wanted it.
type Rendering struct {
	// Spec identifies the part of the owner's spec that pods are made from.
	Spec string `json:"spec"`

	// Template identifies the template as it was rendered. What others put on top is no part of it.
	Template string `json:"template"`

	// Replaces is what the Deployment was before, if only the operator wanted this template. It is nil if the user wanted it, or if the
	// rollout had ended when the operator wrote the Deployment last.
	Replaces *Replaced `json:"replaces,omitempty"`
}

// Replaced identifies what a Deployment was before a write.
type Replaced struct {
	// Revision is the number that the Deployment controller had given the newest template that it had seen, 0 if it had seen none.
	Revision int64 `json:"revision"`

	// Generation is that of the Deployment. A status that has observed no later one says nothing of the new template.
	Generation int64 `json:"generation"`
}

// RenderingOf returns the rendering of a Deployment, an empty one if it says none.
func RenderingOf(deployment *appsv1.Deployment) Rendering {
	var rendering Rendering
	if err := json.Unmarshal([]byte(deployment.Annotations[RenderingAnnotation]), &rendering); err != nil {
		return Rendering{} // Somebody else has written it.
	}
	return rendering
}

// Over returns the rendering to write over a Deployment. Equal specs mean that only the operator wants another template: changed tells
// whether it wants the Deployment different from what it applied last, and specApplied whether it has applied the owner's spec before.
// Without such a change, somebody else has changed the template, and is the cause of its repair as well.
func (r Rendering) Over(deployment *appsv1.Deployment, changed, specApplied bool) Rendering {
	given := RenderingOf(deployment)
	switch {
	case given.Template == r.Template:
		if RolloutByOperator(deployment) {
			r.Replaces = given.Replaces
		}
	case changed && (specApplied || given.Spec == r.Spec):
		r.Replaces = &Replaced{Revision: revision(deployment), Generation: deployment.Generation}
	}
	return r
}

// RolloutByOperator tells whether a Deployment replaces its pods because of a template that only the operator wanted. A later revision
// is a rollout that somebody else has begun, for example `kubectl rollout restart`. Pods that start after all have had the template are
// no part of the rollout, for example those of a larger size. Without a Deployment, there is no rollout.
func RolloutByOperator(deployment *appsv1.Deployment) bool {
	if deployment == nil {
		return false
	}
	before := RenderingOf(deployment).Replaces
	if before == nil || before.Generation >= deployment.Generation { // Every template has a new generation, so somebody else has written it.
		return false
	}
	if now := revision(deployment); now != before.Revision && now != before.Revision+1 {
		return false
	}
	status := deployment.Status
	return status.ObservedGeneration <= before.Generation || status.UpdatedReplicas != status.Replicas
}

// revision returns the number of the newest template that the Deployment controller has seen, 0 if it has seen none.
func revision(deployment *appsv1.Deployment) int64 {
	number, err := strconv.ParseInt(deployment.Annotations["deployment.kubernetes.io/revision"], 10, 64)
	if err != nil {
		return 0
	}
	return number
}
