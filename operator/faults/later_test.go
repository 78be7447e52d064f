//go:build faults

package faults_test

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/faults/oracle"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// laterPlans returns plans of F8 and F9 in which somebody else writes when the operator has nothing to do any more: only what it watches tells
// it. Nothing that it does for another reason repairs the object.
func laterPlans(w *workload, b *baseline) (all []*plan) {
	for _, f := range actors() {
		if f.afterwards == nil || f.not != nil && f.not(w) {
			continue
		}
		for _, call := range b.Calls {
			if call.Number != 1 || !f.applies(call) || !b.keeps(call.Object) {
				continue
			}
			p := &plan{class: f.class, name: f.name + "-later", workload: w, where: call.Object}
			p.later = func(s *scene) error { return f.afterwards(s, s.objectOf(call)) }
			switch {
			case f.name == "damaged" && call.Resource() == "statefulsets":
				p.mayRecreate = isRevision // The pods stay.
			case f.mayRecreate != nil:
				p.mayRecreate = f.mayRecreate(w, call)
			}
			p.mayDiffer = func(field string) bool { return ofScaling(call)(field) || f.mayDiffer(w, call)(field) }
			all = append(all, p)
		}
	}
	if b.hasPods() {
		all = append(all, &plan{
			class: "F9", name: "pods-later", workload: w, where: "pods", mayRecreate: podsAndPulls(w, inject.Call{}), mayDiffer: ofOtherPods(w, inject.Call{}),
			later: func(s *scene) error { s.killPods(); return nil },
		})
	}
	if has(b.States[0], "pods/cache-") {
		all = append(all, &plan{class: "F9", name: "restarts-later", workload: w, where: "pods", mayDiffer: ofRestarts, later: (*scene).restartMemcached})
	}
	return all
}

// isRevision matches what Kubernetes records of the templates of a StatefulSet.
func isRevision(key string) bool {
	return strings.HasPrefix(key, "controllerrevisions/") && !strings.Contains(key, "-record-")
}

// restartMemcached restarts memcached in all pods, as the kubelet does after it has ended. The pods stay ready, so only they tell it.
func (s *scene) restartMemcached() error {
	pods := &corev1.PodList{}
	if err := cluster.Client.List(s.Context(), pods, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range pods.Items {
		status := &pods.Items[i].Status
		container := slices.IndexFunc(status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == "memcached" && c.State.Running != nil })
		if container < 0 {
			continue
		}
		restarted := &status.ContainerStatuses[container]
		restarted.RestartCount++
		restarted.ContainerID = "containerd://" + rand.String(12)
		restarted.State.Running.StartedAt = metav1.Now()
		errs = append(errs, cluster.Client.Status().Update(s.Context(), &pods.Items[i]))
	}
	return errors.Join(errs...)
}

// ofRestarts matches fields that say how often memcached has started, and whether it found its items then.
func ofRestarts(field string) bool {
	return strings.HasPrefix(field, "pods/") && strings.HasSuffix(field, ".restartCount") || strings.HasPrefix(field, "memcacheds/") && strings.HasSuffix(field, ".items")
}

// ofScaling matches who owns the fields of a workload. To scale one, the operator writes the subresource scale, and owns the number of pods
// there. When it repairs the object, it owns the number as a field of the object as well.
func ofScaling(c inject.Call) func(field string) bool {
	return func(field string) bool { return isWorkload(c) && field == c.Object+": managers" }
}

// keeps reports whether the operator keeps an object until the end of each run without faults.
func (b *baseline) keeps(key string) bool {
	for _, state := range b.States {
		if !has(state, key+": ") {
			return false
		}
	}
	return !b.foreign(key)
}

// foreign reports whether an object is somebody else's at the end.
func (b *baseline) foreign(key string) bool {
	return has(b.States[0], key+": metadata.labels."+oracle.ForeignLabel)
}

// creates reports whether objects of a resource are created in each run without faults.
func (b *baseline) creates(resource string) bool {
	for key := range b.Counts[0].Created {
		if strings.HasPrefix(key, resource+"/") {
			return true
		}
	}
	return false
}

// hasPods reports whether there are pods at the end.
func (b *baseline) hasPods() bool { return has(b.States[0], "pods/") }

func has(state map[string]string, prefix string) bool {
	for field := range state {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return false
}
