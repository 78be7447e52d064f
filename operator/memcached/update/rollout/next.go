package rollout

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/workload"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Input is everything a step is decided from.
type Input struct {
	// StatefulSet has the template that is wanted.
	StatefulSet *appsv1.StatefulSet

	// Pods are those of the StatefulSet.
	Pods []corev1.Pod

	// Revisions are the ControllerRevisions of the StatefulSet, and of nothing else.
	Revisions []appsv1.ControllerRevision

	// States are what the agents say, by the name of the pod. An agent that cannot be reached has none.
	States map[string]*agentapi.State

	// Version tells the version of memcached in an image, empty if it is not known.
	Version func(image string) string

	// Features are what the cluster can do.
	Features inputs.Features

	// Gate slows down replacing pods, nil if it does not.
	Gate *Gate

	// Now is the time.
	Now time.Time
}

// Gate lets the next pod be replaced only after the ones before it have filled up again.
type Gate struct {
	// RecoveredPercent is how much of the hit ratio of those to follow they have to reach, from 1 to 100.
	RecoveredPercent int32

	// Timeout is how long to wait for that after a pod has become ready.
	Timeout time.Duration
}

// Kind is what a step does.
type Kind string

const (
	// None means: all pods are there and of the template.
	None Kind = "None"

	// Wait means: something has to happen first.
	Wait Kind = "Wait"

	// Patch changes a running pod.
	Patch Kind = "Patch"

	// Resize changes the resources of a running pod (the subresource pods/resize).
	Resize Kind = "Resize"

	// Replace removes a pod, for Kubernetes to make it anew from the template.
	Replace Kind = "Replace"
)

// Step is what to do next.
type Step struct {
	// Kind is what to do.
	Kind Kind

	// Pod is what the step is about, as it was seen; nil if it is about none.
	Pod *corev1.Pod

	// Class is what a Patch, Resize or Replace does to the items of the pod.
	Class diff.Class

	// Message says in words what is done, or what is waited for.
	Message string

	// After is when to look again, if nothing that is watched changes before: no watch tells what an agent says. It is 0
	// for None.
	After time.Duration

	// Stuck is on for a Wait that will not pass by itself, or has not for ten minutes. For a pod that is yet to be created
	// it is not: since when it is missing is told nowhere, and why it cannot be created, rollout.Refusal says.
	Stuck bool

	// Patch is the strategic merge patch of a Patch or Resize. It applies only to the pod as it was seen.
	Patch []byte

	// Unready is on for a Replace of a pod that is not ready, which no PodDisruptionBudget needs to allow: one that serves
	// nobody, or that limps.
	Unready bool
}

// Progress tells how far the rollout is. step is what Next returned, or what became of it.
func (s Input) Progress(step Step) workload.Progress {
	progress := workload.Progress{Message: step.Message, Stuck: step.Stuck}
	if step.Pod != nil {
		progress.Pod = step.Pod.Name
	}
	for _, n := range s.members() {
		if n.done(s.StatefulSet.Status.UpdateRevision) {
			progress.Updated++
		}
	}
	return progress
}

// soon is when to look again at what no watch tells of: what an agent says.
const soon = 2 * time.Second

// later is when to look again at what a watch should tell of.
const later = 10 * time.Second

// Next returns the one next step. The error is that of a template that cannot be read.
func Next(s Input) (Step, error) {
	set := s.StatefulSet
	if set.Status.ObservedGeneration < set.Generation || set.Status.UpdateRevision == "" {
		return Step{Kind: Wait, Message: "Kubernetes has yet to act on the newest change", After: soon}, nil
	}
	if there := s.members(); s.Progress(Step{}).Updated == int32(len(there)) {
		if step, waits := s.missing(there); waits {
			return step, nil
		}
		return Step{Kind: None}, nil
	}
	r, err := newPlanner(s)
	if err != nil {
		return Step{}, fmt.Errorf("the pod template of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return r.next()
}
