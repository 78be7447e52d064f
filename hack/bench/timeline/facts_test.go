package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestFacts(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   map[string]string
	}{
		"a pod": {`
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "False", reason: ContainersNotReady}]
  containerStatuses:
  - {name: memcached, state: {waiting: {reason: ContainerCreating}}}
  - {name: agent, ready: true, state: {running: {}}}
`, map[string]string{
			"phase": "Pending", "PodScheduled": "True", "Ready": "False (ContainersNotReady)",
			"container memcached": "ContainerCreating", "container agent": "running, ready",
		}},
		"a CSV, whose conditions are its history": {`
status: {phase: Succeeded, conditions: [{phase: Pending}]}
`, map[string]string{"phase": "Succeeded"}},
		"a Deployment":         {`status: {readyReplicas: 2, updatedReplicas: 3}`, map[string]string{"readyReplicas": "2", "updatedReplicas": "3"}},
		"an OperatorCondition": {`spec: {conditions: [{type: Upgradeable, status: "False", reason: RolloutInProgress}]}`, map[string]string{"Upgradeable": "False (RolloutInProgress)"}},
		"a Lease":              {`spec: {holderIdentity: pod-1}`, map[string]string{"holderIdentity": "pod-1"}},
		"something else":       {`status: something`, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(test.want, facts(object)); difference != "" {
				t.Errorf("facts (-want +got):\n%s", difference)
			}
		})
	}
}

func TestOnlyWhatChangesIsShown(t *testing.T) {
	got := changes(map[string]string{"phase": "Pending", "Ready": "False"}, map[string]string{"phase": "Running", "Ready": "False", "A": "True"})
	if difference := cmp.Diff([]string{"A: True", "phase: Running"}, got); difference != "" {
		t.Error(difference)
	}
}
