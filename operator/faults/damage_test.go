//go:build faults

package faults_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

const anotherImage = `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"registry.example.com/another:1"}]`

// damages are changes of objects that clients would notice, as JSON patches, by kind.
var damages = map[string]string{
	"Deployment":          anotherImage,
	"StatefulSet":         anotherImage,
	"Service":             `[{"op":"replace","path":"/spec/selector","value":{"app":"another"}}]`,
	"NetworkPolicy":       `[{"op":"replace","path":"/spec/ingress","value":[]}]`,
	"PodDisruptionBudget": `[{"op":"replace","path":"/spec/maxUnavailable","value":"100%"}]`,
	"Ingress":             `[{"op":"replace","path":"/spec/rules","value":[{"host":"another.example.com"}]}]`,
	"Secret":              `[{"op":"replace","path":"/data/host","value":"YW5vdGhlcg=="}]`,
}

// damage changes an object so that clients notice it.
func damage(s *scene, object *unstructured.Unstructured) error {
	patch, found := damages[object.GetKind()]
	if !found {
		return fmt.Errorf("nothing says what damages a %s", object.GetKind())
	}
	return cluster.Client.Patch(s.Context(), object, client.RawPatch(types.JSONPatchType, []byte(patch)))
}

// scaleToZero takes all pods away.
func scaleToZero(s *scene, object *unstructured.Unstructured) error {
	s.history.AllowOnce(0)
	return mergeInto(s, object, `{"spec":{"replicas":0}}`)
}

func mergeInto(s *scene, object *unstructured.Unstructured, patch string) error {
	return cluster.Client.Patch(s.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// appliesWorkload matches writes of a Deployment or StatefulSet.
func appliesWorkload(c inject.Call) bool { return appliesChild(c) && isWorkload(c) }

// itsPods matches what belongs to the workload of a call. Other objects stay what they are.
func itsPods(w *workload, c inject.Call) func(string) bool {
	return func(key string) bool { return key != c.Object && objectAndPods(w, c)(key) }
}

// ofItsPods matches fields that a workload has otherwise after other pods, and who owns its number of pods. What a PodDisruptionBudget says is
// not among what comes back: Kubernetes' disruption controller does not watch the size of workloads, so it may know the one in between.
func ofItsPods(w *workload, c inject.Call) func(string) bool {
	return func(field string) bool {
		return ofAnotherWorkload(w, c)(field) || ofScaling(c)(field) ||
			isWorkload(c) && strings.HasPrefix(field, "poddisruptionbudgets/") && strings.Contains(field, ": status.")
	}
}
