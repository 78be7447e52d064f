package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/example/memcached-operator/hack/project"
)

const dir = "../../bundles/v" + project.Version

func rendered(t *testing.T, options renderOptions) []unstructured.Unstructured {
	t.Helper()
	out, err := render(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	var objects []unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096); ; {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
}

func TestRenderReturnsTheObjectsThatOLMCreates(t *testing.T) {
	var got []string
	for _, object := range rendered(t, renderOptions{}) {
		got = append(got, strings.Trim(object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName(), "/"))
	}
	for _, want := range []string{
		"Namespace /memcached-operator-system",
		"CustomResourceDefinition /memcacheds.cache.example.com",
		"ServiceAccount memcached-operator-system/memcached-operator-controller-manager",
		"ClusterRole /memcached-operator-manager-role",
		"ClusterRoleBinding /memcached-operator-manager-rolebinding",
		"Role memcached-operator-system/memcached-operator-leader-election-role",
		"RoleBinding memcached-operator-system/memcached-operator-leader-election-rolebinding",
		"Service memcached-operator-system/memcached-operator-controller-manager-metrics-service",
		"Deployment memcached-operator-system/memcached-operator-controller-manager",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing from %v", want, got)
		}
	}
	if got[0] != "Namespace /memcached-operator-system" {
		t.Errorf("the first object is %s, so objects in the namespace cannot be created", got[0])
	}
}

func TestRenderReplacesImages(t *testing.T) {
	const image = "localhost:5000/me/manager:dev"
	standIns, want := project.StandIns{}, map[string]string{project.AgentEnv: image, project.DefaultOperandEnv: project.DefaultOperand}
	for i, official := range project.Operands() {
		standIns[official.Image] = project.OperandRepository + "@sha256:" + strings.Repeat(strconv.Itoa(i), 64)
		want[official.Env()] = standIns[official.Image]
	}
	objects := rendered(t, renderOptions{image: image, operands: standIns})
	deployment := objects[len(objects)-1]
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("containers of %s: %v, %v", deployment.GetKind(), containers, err)
	}
	container := containers[0].(map[string]any)
	if container["image"] != image {
		t.Errorf("the manager's image is %v", container["image"])
	}
	got := map[string]string{}
	for _, variable := range container["env"].([]any) {
		variable := variable.(map[string]any)
		got[variable["name"].(string)] = variable["value"].(string)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the manager's environment, -want +got:\n%s", diff)
	}
}

func TestRenderCRDsOnly(t *testing.T) {
	for _, object := range rendered(t, renderOptions{crdsOnly: true}) {
		if object.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s is not a CRD", object.GetKind())
		}
	}
}

func TestRenderSaysHowToWriteAMissingBundle(t *testing.T) {
	if _, err := render(t.TempDir(), renderOptions{}); err == nil || !strings.Contains(err.Error(), "go run ./hack/bundle") {
		t.Errorf("got %v", err)
	}
}
