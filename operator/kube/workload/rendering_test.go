package workload_test

import (
	"encoding/json"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// rendered returns a Deployment of two pods with a rendering and a revision. So many of its pods have the newest template.
func rendered(t *testing.T, rendering workload.Rendering, revision int, updated int32) *appsv1.Deployment {
	t.Helper()
	raw, err := json.Marshal(rendering)
	if err != nil {
		t.Fatal(err)
	}
	deployment := testkit.Deployment(2, updated, 2)
	deployment.Annotations = map[string]string{
		workload.RenderingAnnotation: string(raw), "deployment.kubernetes.io/revision": strconv.Itoa(revision),
	}
	return deployment
}

// seen makes a Deployment of the generation 9, of which Kubernetes has seen an earlier one.
func seen(generation int64, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.Generation, deployment.Status.ObservedGeneration = 9, generation
	return deployment
}

func TestRolloutByOperator(t *testing.T) {
	operators := workload.Rendering{Spec: "spec", Template: "new", Replaces: &workload.Replaced{Revision: 3, Generation: 7}}
	users := workload.Rendering{Spec: "spec", Template: "new"}
	first := workload.Rendering{Spec: "spec", Template: "new", Replaces: &workload.Replaced{Generation: 7}}
	spoilt, unseen := rendered(t, operators, 4, 1), rendered(t, first, 0, 2)
	spoilt.Annotations[workload.RenderingAnnotation] = "{"
	delete(unseen.Annotations, "deployment.kubernetes.io/revision")
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		want       bool
	}{
		"no Deployment":                                       {nil, false},
		"of an earlier release":                               {seen(9, testkit.Deployment(2, 1, 2)), false},
		"an annotation of others":                             {seen(9, spoilt), false},
		"the user wanted it":                                  {seen(9, rendered(t, users, 4, 1)), false},
		"Kubernetes has not seen it":                          {seen(7, rendered(t, operators, 3, 2)), true},
		"Kubernetes has not seen any template":                {seen(0, unseen), true},
		"Kubernetes has numbered it, and not counted pods":    {seen(7, rendered(t, operators, 4, 2)), true},
		"Kubernetes has counted pods, and not numbered it":    {seen(8, rendered(t, operators, 3, 0)), true},
		"nothing differs for Kubernetes":                      {seen(8, rendered(t, operators, 3, 2)), false},
		"no pod is replaced":                                  {seen(8, rendered(t, operators, 4, 0)), true},
		"a pod is replaced":                                   {seen(9, rendered(t, operators, 4, 1)), true},
		"all pods are replaced":                               {seen(9, rendered(t, operators, 4, 2)), false},
		"all pods are replaced, and another size is not seen": {seen(8, rendered(t, operators, 4, 2)), false},
		"somebody has changed the template since":             {seen(9, rendered(t, operators, 5, 1)), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := workload.RolloutByOperator(test.deployment); got != test.want {
				t.Errorf("the rollout is by the operator: %t", got)
			}
		})
	}
}

func TestWhoWantedATemplate(t *testing.T) {
	const user, operator = false, true
	given := workload.Rendering{Spec: "spec", Template: "old"}
	rolling := workload.Rendering{Spec: "spec", Template: "new", Replaces: &workload.Replaced{Revision: 3, Generation: 1}}
	for name, test := range map[string]struct {
		deployment           *appsv1.Deployment
		next                 workload.Rendering
		changed, specApplied bool
		want                 bool
	}{
		"the spec is the same, though a size was not applied": {
			rendered(t, given, 4, 2), workload.Rendering{Spec: "spec", Template: "new"}, true, false, operator,
		},
		"the spec differs": {
			rendered(t, given, 4, 2), workload.Rendering{Spec: "other", Template: "new"}, true, false, user,
		},
		"the spec differs without consequences for pods, and was applied": {
			rendered(t, given, 4, 2), workload.Rendering{Spec: "other", Template: "new"}, true, true, operator,
		},
		"an earlier release gave it for this spec": {
			rendered(t, workload.Rendering{}, 4, 2), workload.Rendering{Spec: "spec", Template: "new"}, true, true, operator,
		},
		"an earlier release gave it for an earlier spec": {
			rendered(t, workload.Rendering{}, 4, 2), workload.Rendering{Spec: "spec", Template: "new"}, true, false, user,
		},
		"an earlier release gave it, and somebody has changed it": {
			rendered(t, workload.Rendering{}, 4, 2), workload.Rendering{Spec: "spec", Template: "new"}, false, true, user,
		},
		"a user's rollout goes on, and the size changes": {
			rendered(t, workload.Rendering{Spec: "spec", Template: "new"}, 4, 1), workload.Rendering{Spec: "spec", Template: "new"}, true, false, user,
		},
		"the operator's rollout goes on, and the size changes": {
			rendered(t, rolling, 4, 1), workload.Rendering{Spec: "spec", Template: "new"}, true, false, operator,
		},
		"the operator's rollout goes on, and the image changes": {
			rendered(t, rolling, 4, 1), workload.Rendering{Spec: "other", Template: "newer"}, true, false, user,
		},
		"the operator's rollout has ended": {
			rendered(t, rolling, 4, 2), workload.Rendering{Spec: "spec", Template: "new"}, true, false, user,
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := test.next.Over(test.deployment, test.changed, test.specApplied)
			if got := next.Replaces != nil; got != test.want {
				t.Errorf("only the operator wanted it: %t", got)
			}
			if next.Spec != test.next.Spec || next.Template != test.next.Template {
				t.Errorf("the rendering is %+v", next)
			}
		})
	}
}
