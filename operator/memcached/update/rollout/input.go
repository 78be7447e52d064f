package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Input is everything that a step depends on.
type Input struct {
	// StatefulSet has the wanted template.
	StatefulSet *appsv1.StatefulSet
	// Pods are the pods of the StatefulSet.
	Pods []corev1.Pod
	// Revisions are the ControllerRevisions of the StatefulSet, and no others.
	Revisions []appsv1.ControllerRevision
	// Records are the records of the StatefulSet. The class of a change is that of the difference between two records: what
	// admission policies and people change is no difference.
	Records []inputs.Record
	// Approved is true if pods may be replaced although there is no record of what they were given.
	Approved bool
	// Service is true if clients use the Service of spec.service, which leaves out pods that are not ready. KeepsUnready is true
	// while it publishes them as well.
	Service, KeepsUnready bool
	// PullPods are the pods that have pulled images for the pods of the StatefulSet.
	PullPods []corev1.Pod
	// Pulling says which images are missing on nodes, empty if none are: no running pod gets another image. PullFailed is true if they
	// may never come.
	Pulling    string
	PullFailed bool
	// States are what the agents report, by the name of the pod. An agent that cannot be reached has no entry. A memcached that was
	// taken over can lie in the place of its agent, which may harm its own cache only: a step changes nothing but pods of the
	// StatefulSet, and only as far as the spec wants.
	States map[string]*agentapi.State
	// Version returns the version of memcached in an image, empty if it is unknown.
	Version func(image string) string
	// Features are what the cluster can do.
	Features inputs.Features
	// Gate delays the replacement of pods; nil for no delay.
	Gate *Gate
	// Now is the time.
	Now time.Time
}

// Gate lets the next pod be replaced only after the ones before it have filled up again.
type Gate struct {
	// RecoveredPercent is how much of the hit ratio of the pods not replaced yet a replaced pod has to reach, from 1 to 100.
	RecoveredPercent int32
	// Timeout is how long to wait for that after a pod has become ready.
	Timeout time.Duration
}
