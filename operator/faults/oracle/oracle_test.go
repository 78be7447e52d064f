package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/faults/oracle"
)

// object reads an object from YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	found := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(raw, &found.Object) // Its numbers are those of the API.
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// run is what a run leaves: everything that differs between runs is made of the seed.
func run(t *testing.T, seed int) *oracle.History {
	t.Helper()
	h := oracle.NewHistory()
	h.Allow(2)
	hash := fmt.Sprintf("55b6657d%d", seed)
	conditions := map[int]string{1: "{type: Ready, status: bad}, {type: Degraded, status: good}", 2: "{type: Degraded, status: good}, {type: Ready, status: bad}"}
	h.Set("deployments", object(t, fmt.Sprintf(`
kind: Deployment
metadata: {name: cache, namespace: test-%d, uid: deployment-%d, resourceVersion: "%d", creationTimestamp: "2026-05-0%dT08:00:00Z"}
spec: {replicas: 2, host: cache.test-%d.svc}
status: {conditions: [%s]}`, seed, seed, seed, seed, seed, conditions[seed])))
	h.Set("pods", object(t, fmt.Sprintf(`
kind: Pod
metadata: {name: cache-%s-bcdf%d, uid: pod-%d, labels: {pod-template-hash: %s}, ownerReferences: [{uid: deployment-%d, controller: true}]}
status: {podIP: 10.0.0.%d, containers: [{id: "containerd://x%d"}]}`, hash, seed+4, seed, hash, seed, seed, seed)))
	h.Set("secrets", object(t, fmt.Sprintf(`
kind: Secret
metadata: {name: binding, uid: secret-%d}
data: {host: %s}`, seed, map[int]string{1: "dGVzdC0x", 2: "dGVzdC0y"}[seed])))
	return h
}

func TestRunsThatDifferOnlyInNamesAndTimesHaveTheSameState(t *testing.T) {
	first, second := run(t, 1).State("test-1"), run(t, 2).State("test-2")
	if difference := cmp.Diff(first, second); difference != "" {
		t.Errorf("the states differ:\n%s", difference)
	}
	for field, want := range map[string]string{
		"deployments/cache: status.conditions[Ready].status": "bad", "deployments/cache: spec.replicas": "2", "deployments/cache: spec.host": "cache.NAMESPACE.svc",
		"secrets/binding: data.host": "NAMESPACE", "pods/cache-template1-*: metadata.ownerReferences[0].uid": "UID of deployments/cache",
	} {
		if first[field] != want {
			t.Errorf("%s is %q, want %q", field, first[field], want)
		}
	}
}

func TestDifferencesAreOnlyThoseThatRunsDoNotHave(t *testing.T) {
	baseline := oracle.NewBaseline(oracle.State{"size": "2", "time": "1", "note": "a"}, oracle.State{"size": "2", "time": "2"})
	if difference := cmp.Diff([]string{"note", "time"}, baseline.Masked()); difference != "" {
		t.Errorf("masked (-want +got):\n%s", difference)
	}
	for name, c := range map[string]struct {
		state oracle.State
		want  []string
	}{
		"the same":        {oracle.State{"size": "2", "time": "3"}, nil},
		"another value":   {oracle.State{"size": "3"}, []string{`size is "3", without a fault "2"`}},
		"a missing field": {oracle.State{}, []string{`size is nothing, without a fault "2"`}},
		"a new field":     {oracle.State{"size": "2", "left": "x"}, []string{`left is "x", without a fault nothing`}},
	} {
		t.Run(name, func(t *testing.T) {
			if difference := cmp.Diff(c.want, baseline.Differences(c.state, nil)); difference != "" {
				t.Errorf("the differences are (-want +got):\n%s", difference)
			}
			if all := baseline.Differences(c.state, func(string) bool { return true }); len(all) > 0 {
				t.Errorf("of the fields that may differ, there are %v", all)
			}
		})
	}
}

func TestARecreatedObjectIsNoticed(t *testing.T) {
	usual, another := run(t, 1), run(t, 2)
	pod := object(t, `{metadata: {name: cache-55b6657d2-bcdf6, uid: pod-2, labels: {pod-template-hash: 55b6657d2}}}`)
	another.Delete("pods", pod)
	pod.SetUID(types.UID("pod-3"))
	another.Set("pods", pod)
	want := []string{
		"pods/cache-template1-* was created 2 times, without a fault 1 times", "pods/cache-template1-* was deleted 1 times, without a fault 0 times",
	}
	for _, missing := range []bool{false, true} {
		if difference := cmp.Diff(want, another.Counts().Differences([]oracle.Counts{usual.Counts()}, nil, missing)); difference != "" {
			t.Errorf("the differences are (-want +got):\n%s", difference)
		}
		if less := usual.Counts().Differences([]oracle.Counts{another.Counts()}, nil, missing); (len(less) == 0) != missing {
			t.Errorf("events may be missing: %v, and the differences are %v", missing, less)
		}
	}
	if left := another.Counts().Differences([]oracle.Counts{usual.Counts()}, func(key string) bool { return strings.HasPrefix(key, "pods/") }, false); left != nil {
		t.Errorf("although pods may be recreated: %v", left)
	}
}

func TestWhatMayNeverBeIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   string
	}{
		"nothing":        {`{metadata: {name: cache, uid: deployment-1}, spec: {replicas: 2}}`, ""},
		"fewer pods":     {`{metadata: {name: cache, uid: deployment-1}, spec: {replicas: 1}}`, "scaled from 2 to 1"},
		"two owners":     {`{metadata: {name: cache, uid: deployment-1, ownerReferences: [{controller: true}, {controller: true}]}, spec: {replicas: 2}}`, "2 controllers"},
		"a foreign one":  {`{metadata: {name: x, uid: x, labels: {test.example.com/foreign: x}, ownerReferences: [{controller: true}]}}`, "somebody else"},
		"one more owner": {`{metadata: {name: cache, uid: deployment-1, ownerReferences: [{controller: true}, {}]}, spec: {replicas: 2}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := run(t, 1)
			h.Set("deployments", object(t, c.change))
			h.Set("deployments", object(t, `{metadata: {name: cache, uid: deployment-1}, spec: {replicas: 2}}`)) // It is put right again.
			broken := strings.Join(h.Broken(), "; ")
			if c.want == "" && broken != "" || !strings.Contains(broken, c.want) {
				t.Errorf("broken is %q, want %q", broken, c.want)
			}
		})
	}
}

func TestACacheIsNotReadyBeforeItsPods(t *testing.T) {
	for _, c := range []struct {
		condition, endpoint string
		broken              int
	}{{"True", "true", 0}, {"False", "false", 0}, {"True", "false", 1}} {
		h := oracle.NewHistory()
		h.Set("memcacheds", object(t, fmt.Sprintf(`
metadata: {name: cache, uid: cache}
status: {conditions: [{type: Degraded, status: "False"}, {type: Ready, status: %q}], endpoints: [{pod: cache-0, ready: true}, {pod: cache-1, ready: %s}]}`,
			c.condition, c.endpoint)))
		if broken := h.Broken(); len(broken) != c.broken {
			t.Errorf("with Ready %s, and an endpoint that is ready: %s, broken is %q", c.condition, c.endpoint, broken)
		}
	}
}

func TestUsersMayAskForFewerPods(t *testing.T) {
	h := run(t, 1)
	h.Forget()
	h.Allow(1)
	h.Set("deployments", object(t, `{metadata: {name: cache, uid: deployment-1}, spec: {replicas: 1}}`))
	if broken := h.Broken(); broken != nil {
		t.Errorf("broken is %q", broken)
	}
	h.Set("deployments", object(t, `{metadata: {name: cache, uid: deployment-1}, spec: {replicas: 2}}`))
	if broken := h.Broken(); len(broken) != 1 {
		t.Errorf("with the number from before, broken is %q", broken)
	}
}

func TestOnlyTheirOwnersDeleteForeignObjects(t *testing.T) {
	theirs, unmarked := object(t, `{metadata: {name: x, uid: x, labels: {test.example.com/foreign: x}}}`), object(t, `{metadata: {name: x, uid: x}}`)
	for last, want := range map[*unstructured.Unstructured]int{theirs: 1, unmarked: 0} {
		h := oracle.NewHistory()
		h.Set("services", theirs)
		h.Delete("services", last)
		if broken := h.Broken(); len(broken) != want {
			t.Errorf("with the labels %v, broken is %q", last.GetLabels(), broken)
		}
	}
}
