package apply_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// newApplication creates an Application of two replicas with a cache and applies its plan.
func newApplication(t *testing.T) (*v1alpha1.Application, owned.Plan) {
	t.Helper()
	owner := testkit.MakeApplication("web").Namespace(cluster.Namespace(t)).Replicas(2).Caches("cache").Obj()
	if err := cluster.Client.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	plan := planOf(t, owner)
	if _, err := live().Apply(t.Context(), owner, plan); err != nil {
		t.Fatal(err)
	}
	return owner, plan
}

func planOf(t *testing.T, application *v1alpha1.Application) owned.Plan {
	t.Helper()
	plan, err := desired.Plan(desired.Inputs{Application: application})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Each edit replaces a wanted field by one that cannot exist beside it. `kubectl edit` sends such edits as strategic merge
// patches.
func TestRivalFieldsAreRemoved(t *testing.T) {
	for name, test := range map[string]struct {
		object client.Object
		edit   string
		fields []string
	}{
		"another port of a Service": {
			object: &corev1.Service{},
			edit: `{"spec":{"$setElementOrder/ports":[{"port":9090}],
				"ports":[{"port":9090,"name":"http","protocol":"TCP","targetPort":"http"},{"port":8080,"$patch":"delete"}]}}`,
			fields: []string{`spec.ports[port=8080,protocol="TCP"].name`},
		},
		"another port of a container": {
			object: &appsv1.Deployment{},
			edit: `{"spec":{"template":{"spec":{"containers":[{"name":"application","$setElementOrder/ports":[{"containerPort":9090}],
				"ports":[{"containerPort":9090,"name":"http","protocol":"TCP"},{"containerPort":8080,"$patch":"delete"}]}]}}}}`,
			fields: []string{`spec.template.spec.containers[name="application"].ports[containerPort=8080,protocol="TCP"].name`},
		},
		"another kind of probe": {
			object: &appsv1.Deployment{},
			edit: `{"spec":{"template":{"spec":{"containers":[{"name":"application",
				"readinessProbe":{"tcpSocket":null,"httpGet":{"path":"/","port":"http"}}}]}}}}`,
			fields: []string{`spec.template.spec.containers[name="application"].readinessProbe.tcpSocket.port`},
		},
		"another kind of volume": {
			object: &appsv1.Deployment{},
			edit:   `{"spec":{"template":{"spec":{"volumes":[{"name":"binding-cache","secret":null,"emptyDir":{}}]}}}}`,
			fields: []string{`spec.template.spec.volumes[name="binding-cache"].secret.secretName`},
		},
		"another source of a variable": {
			object: &appsv1.Deployment{},
			edit: `{"spec":{"template":{"spec":{"containers":[{"name":"application",
				"env":[{"name":"MEMCACHED_SERVERS","value":null,"valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}}}}`,
			fields: []string{`spec.template.spec.containers[name="application"].env[name="MEMCACHED_SERVERS"].value`},
		},
		"another kind of disruption budget": {
			object: &policyv1.PodDisruptionBudget{},
			edit:   `{"spec":{"maxUnavailable":null,"minAvailable":1}}`,
			fields: []string{"spec.maxUnavailable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			owner, plan := newApplication(t)
			key := client.ObjectKeyFromObject(owner)
			read := func() string {
				object := test.object.DeepCopyObject().(client.Object)
				if err := cluster.Client.Get(t.Context(), key, object); err != nil {
					t.Fatal(err)
				}
				return specOf(t, object)
			}
			want := read()
			object := test.object.DeepCopyObject().(client.Object)
			object.SetNamespace(key.Namespace)
			object.SetName(key.Name)
			// A label of the other client is no rival and stays.
			edit := `{"metadata":{"labels":{"example.com/team":"a"}},` + test.edit[1:]
			if err := cluster.Client.Patch(t.Context(), object, client.RawPatch("application/strategic-merge-patch+json", []byte(edit)),
				client.FieldOwner("kubectl-edit")); err != nil {
				t.Fatal(err)
			}
			if read() == want {
				t.Fatal("the edit changed nothing")
			}
			result, err := live().Apply(t.Context(), owner, plan)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(want, read()); difference != "" {
				t.Errorf("the object is not as before (-before +now):\n%s", difference)
			}
			if len(result.Changes) != 1 || result.Changes[0].Action != apply.Repaired ||
				!strings.Contains(strings.Join(result.Changes[0].Fields, " "), test.fields[0]) {
				t.Errorf("changes are %+v", result.Changes)
			}
			if err := cluster.Client.Get(t.Context(), key, object); err != nil || object.GetLabels()["example.com/team"] != "a" {
				t.Errorf("labels are %v, %v", object.GetLabels(), err)
			}
			if again, err := live().Apply(t.Context(), owner, plan); err != nil || len(again.Changes) > 0 {
				t.Errorf("the next apply did %+v, %v", again.Changes, err)
			}
		})
	}
}

// If the API server rejects the wanted object itself, the fields of other clients stay.
func TestAnInvalidObjectKeepsTheFieldsOfOthers(t *testing.T) {
	owner, plan := newApplication(t)
	key := client.ObjectKeyFromObject(owner)
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = key.Namespace, key.Name
	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"revisionHistoryLimit":3,"template":{"spec":{"nodeSelector":{"disk":"fast"}}}}}`))
	if err := cluster.Client.Patch(t.Context(), deployment, edit, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	before := deployment.DeepCopy()
	wrong := plan
	wrong.Present = append([]owned.Configuration{}, plan.Present...)
	spec := testkit.MakeApplication("web").Namespace(key.Namespace).Replicas(2).Caches("cache").Env("not=a=name", "1").Obj()
	spec.UID = owner.UID
	wrong.Present[0] = planOf(t, spec).Present[0]
	_, err := live().Apply(t.Context(), owner, wrong)
	wantClass(t, err, reconcileerror.Delayed)
	if err := cluster.Client.Get(t.Context(), key, deployment); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(before, deployment); difference != "" {
		t.Errorf("the Deployment was changed:\n%s", difference)
	}
}

// specOf returns the spec of an object as YAML.
func specOf(t *testing.T, object client.Object) string {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(content["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
