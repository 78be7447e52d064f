package inputs

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/kube/workload"
)

// CreateFailure returns why missing pods of a StatefulSet cannot be created; empty if none is missing or no event says why.
// Unlike that of a Deployment, its status does not say it: only events do. They are read live, and only while pods are
// missing: a watch would keep all events of the cluster in memory.
func (m *Reader) CreateFailure(ctx context.Context, set *appsv1.StatefulSet, now time.Time) (string, error) {
	if account := workload.OfStatefulSet(set); account == nil || account.Replicas >= account.Wanted {
		return "", nil
	}
	found := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.uid": string(set.UID)}
	if err := m.Live.List(ctx, found, client.InNamespace(set.Namespace), about); err != nil {
		return "", fmt.Errorf("list the events about StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return workload.CreateFailure(found.Items, now), nil
}
