package rollout

import (
	"fmt"

	"github.com/example/memcached-operator/operator/kube/workload"
)

// Next returns the one next step. It fails if the template of the StatefulSet cannot be read.
func Next(i Input) (Step, error) {
	set := i.StatefulSet
	if set.Status.ObservedGeneration < set.Generation || set.Status.UpdateRevision == "" {
		return Step{Kind: Wait, Message: "Kubernetes has not processed the latest change yet", After: soon}, nil
	}
	if members := i.members(); i.Progress(Step{}).Updated == int32(len(members)) {
		if step, waits := i.missing(members); waits {
			return step, nil
		}
		return Step{Kind: None}, nil
	}
	p, err := newPlanner(i)
	if err != nil {
		return Step{}, fmt.Errorf("the pod template of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return p.next()
}

// Progress returns how far the rollout is. step is the step that Next returned, or the one that package executor made of it.
func (i Input) Progress(step Step) workload.Progress {
	progress := workload.Progress{Message: step.Message, Stuck: step.Stuck}
	if step.Pod != nil {
		progress.Pod = step.Pod.Name
	}
	for _, m := range i.members() {
		if m.upToDate(i.StatefulSet.Status.UpdateRevision) {
			progress.Updated++
		}
	}
	return progress
}
