//go:build faults

package faults_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/faults/oracle"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// actors are the faults in which somebody else writes at the same time: F8 and F9.
func actors() []fault {
	return []fault{
		{class: "F8", name: "deleted", applies: appliesChild, arm: afterWrite(deleteObject), afterwards: deleteObject, mayRecreate: objectAndPods, mayDiffer: ofAnotherWorkload},
		{class: "F8", name: "orphaned", applies: appliesChild, not: removes, arm: afterWrite(orphan), afterwards: orphan, mayRecreate: dropped, mayDiffer: ofDropped},
		{class: "F8", name: "edited", applies: appliesChild, arm: afterWrite(edit), afterwards: edit, mayDiffer: generations},
		{class: "F8", name: "damaged", applies: appliesChild, arm: afterWrite(damage), afterwards: damage, mayRecreate: itsPods, mayDiffer: ofItsPods},
		{class: "F8", name: "scaled", applies: appliesWorkload, arm: afterWrite(scaleToZero), afterwards: scaleToZero, mayRecreate: itsPods, mayDiffer: ofItsPods},
		{class: "F8", name: "foreign", applies: firstApply, arm: createForeign, mayRecreate: objectAndPods, mayDiffer: ofAnotherWorkload},
		{class: "F9", name: "pods", applies: writes, arm: on(func(s *scene) inject.Action { return inject.After(s.killPods) }), mayRecreate: podsAndPulls, mayDiffer: ofOtherPods},
		{class: "F9", name: "unready", applies: listsPods, arm: unready, mayRecreate: ofPulls, mayDiffer: ofOtherPods},
	}
}

// removes matches workloads in which users delete what they have: what was orphaned right before, stays.
func removes(w *workload) bool { return w.removes }

// appliesChild matches writes of objects that the operator owns. Records are not among them: they never change.
func appliesChild(c inject.Call) bool {
	return c.Verb == "patch" && strings.Count(c.Object, "/") == 1 && c.Resource() != "pods" && c.Resource() != "controllerrevisions"
}

func firstApply(c inject.Call) bool { return appliesChild(c) && c.Number == 1 }

// lateObjects matches objects that a process may create for an outdated spec although it does not lead any more. The one that leads deletes
// them, or Kubernetes if the owner is gone. No pods may be among them unless the owner is gone: they would be unused.
func lateObjects(w *workload, c inject.Call) func(string) bool {
	return func(key string) bool {
		resource, _, _ := strings.Cut(key, "/")
		return w.removes || ofPulls(w, c)(key) || !slices.Contains([]string{"deployments", "statefulsets", "replicasets", "pods"}, resource)
	}
}

// ofPulls matches the pods that pull images before an update, and the records of templates. If such a pod is gone or was not seen, the
// operator creates another one, and goes back to the template from before. It removes the record of the next one if no workload has it yet.
func ofPulls(*workload, inject.Call) func(string) bool {
	return func(key string) bool {
		return strings.HasPrefix(key, "pods/cache-pull-") || strings.HasPrefix(key, "controllerrevisions/cache-record-")
	}
}

// ofRecords matches what records say of how often the operator went back and forth: if the pod that pulls images is gone, or was not seen, it
// waits with the template from before.
func ofRecords(field string) bool {
	return strings.HasPrefix(field, "controllerrevisions/cache-record-") && (strings.HasSuffix(field, ": revision") || strings.HasSuffix(field, "example.com/note"))
}

// dropped matches the object of a call if users stop wanting it. If it was orphaned right before, it stays: it may belong to somebody else now.
func dropped(w *workload, c inject.Call) func(string) bool {
	return func(key string) bool { return key == c.Object && slices.Contains(w.drops, key) }
}

// ofDropped matches all fields of such an object, and fields that count changes.
func ofDropped(w *workload, c inject.Call) func(string) bool {
	return func(field string) bool {
		key, _, _ := strings.Cut(field, ": ")
		return dropped(w, c)(key) || generations(w, c)(field)
	}
}

func isWorkload(c inject.Call) bool {
	return c.Resource() == "deployments" || c.Resource() == "statefulsets"
}

// objectAndPods matches the object of a call and, for a workload, what belongs to it.
func objectAndPods(_ *workload, c inject.Call) func(string) bool {
	return func(key string) bool {
		return key == c.Object || isWorkload(c) && (strings.HasPrefix(key, "pods/") || strings.HasPrefix(key, "replicasets/") || strings.HasPrefix(key, "controllerrevisions/"))
	}
}

// podsAndPulls matches all pods, and what becomes of pulls without them.
func podsAndPulls(w *workload, c inject.Call) func(string) bool {
	return func(key string) bool { return strings.HasPrefix(key, "pods/") || ofPulls(w, c)(key) }
}

// generations matches fields that count changes.
func generations(*workload, inject.Call) func(string) bool {
	return func(field string) bool {
		return strings.HasSuffix(field, "generation") || strings.HasSuffix(field, "observedGeneration")
	}
}

// ofAnotherWorkload matches fields that a workload does not have, or has otherwise, after it was created anew: its generations, and those of
// earlier templates.
func ofAnotherWorkload(w *workload, c inject.Call) func(string) bool {
	return func(field string) bool {
		return generations(w, c)(field) || isWorkload(c) && (strings.HasPrefix(field, "replicasets/") || strings.HasPrefix(field, "controllerrevisions/") ||
			strings.Contains(field, "evision") || strings.Contains(field, "collisionCount") || strings.HasSuffix(field, ": status.currentReplicas") || otherPods(field)) ||
			// Its templates are counted anew, and pods are named after them.
			c.Resource() == "deployments" && (strings.HasPrefix(field, "pods/") || strings.Contains(field, ": status.endpoints[") || strings.Contains(field, ": status.nodes["))
	}
}

// ofOtherPods matches fields that depend on how pods became what they are.
func ofOtherPods(*workload, inject.Call) func(string) bool { return otherPods }

func otherPods(field string) bool {
	return ofRecords(field) || strings.HasPrefix(field, "pods/") && (strings.HasSuffix(field, ": managers") || strings.HasSuffix(field, "eneration") || strings.HasSuffix(field, ".restartCount")) || strings.HasPrefix(field, "deployments/") && strings.Contains(field, ": status.conditions")
}

// objectOf returns an empty object of the kind and name that a call writes.
func (s *scene) objectOf(call inject.Call) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	resource, name, _ := strings.Cut(call.Object, "/")
	for _, each := range observed {
		if each.Resource == resource {
			kind, err := cluster.Client.RESTMapper().KindFor(each)
			if err != nil {
				s.Error(err)
			}
			object.SetGroupVersionKind(kind)
		}
	}
	object.SetNamespace(s.namespace)
	object.SetName(name)
	return object
}

// afterWrite lets somebody else do something with an object as soon as the operator has written it.
func afterWrite(do func(*scene, *unstructured.Unstructured) error) func(*scene, inject.Call) func() int {
	return func(s *scene, call inject.Call) func() int {
		return s.injector.On(inject.Is(call), inject.After(func() {
			defer s.happening()()
			if err := do(s, s.objectOf(call)); client.IgnoreNotFound(err) != nil {
				s.Errorf("another client: %v", err)
			}
		}))
	}
}

func deleteObject(s *scene, object *unstructured.Unstructured) error {
	return cluster.Client.Delete(s.Context(), object)
}

func orphan(s *scene, object *unstructured.Unstructured) error {
	return mergeInto(s, object, `{"metadata":{"ownerReferences":null}}`)
}

func edit(s *scene, object *unstructured.Unstructured) error {
	return mergeInto(s, object, `{"metadata":{"labels":{"app.kubernetes.io/part-of":"another"}}}`)
}

// foreignTime is how long an object of somebody else has the name of one of ours.
const foreignTime = 2 * time.Second

// createForeign creates an object of the name that the operator is about to use, and deletes it after some time.
func createForeign(s *scene, call inject.Call) func() int {
	return s.injector.On(inject.Is(call), func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(body); err != nil {
			return nil, fmt.Errorf("the body of %s: %w", call, err)
		}
		object.SetNamespace(s.namespace)
		object.SetResourceVersion("")
		object.SetUID("")
		object.SetOwnerReferences(nil)
		object.SetAnnotations(nil)
		object.SetLabels(map[string]string{oracle.ForeignLabel: "yes"})
		if object.GetKind() == "Deployment" || object.GetKind() == "StatefulSet" {
			_ = unstructured.SetNestedField(object.Object, int64(0), "spec", "replicas") // Nobody needs its pods.
		}
		if err := cluster.Client.Create(s.Context(), object); apierrors.IsAlreadyExists(err) {
			return send.RoundTrip(request) // The operator has changed what it had made.
		} else if err != nil {
			s.Errorf("another client: %v", err)
		}
		s.later(foreignTime, func() {
			unmark := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+oracle.ForeignLabel+`":null}}}`))
			err := cluster.Client.Patch(s.Context(), object, unmark)
			if err == nil {
				err = cluster.Client.Delete(s.Context(), object)
			}
			if client.IgnoreNotFound(err) != nil && s.Context().Err() == nil {
				s.Errorf("another client: %v", err)
			}
		})
		return send.RoundTrip(request)
	})
}

// killPods deletes all pods at once.
func (s *scene) killPods() {
	defer s.happening()()
	err := cluster.Client.DeleteAllOf(s.Context(), &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0))
	if err != nil {
		s.Errorf("another client: %v", err)
	}
}
