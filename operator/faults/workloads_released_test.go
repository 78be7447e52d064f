//go:build faults

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/manager"
)

// oldAgent is the image of the agent of an earlier release.
const oldAgent = "quay.io/example/memcached-operator:v0"

// newDefault lets the operator bring another version of memcached than the released objects have.
func newDefault(options *manager.Options) { options.Images.Default = "1.6.45" }

// releasedWorkloads are upgrades of the operator: caches that earlier releases have made, and a new operator.
func releasedWorkloads() []*workload {
	pending := step{
		name: "upgrade", sizes: []int64{2}, done: condition("memcacheds", "cache", "UpdatePending", "True", "WaitingForRelease"),
		do: func(*scene) error { return nil },
	}
	approve := step{name: "approve", done: func(s *scene) error {
		return errors.Join(ready("memcacheds", "cache", 2)(s), condition("memcacheds", "cache", "UpdatePending", "False", "")(s), s.run("memcached", newImage))
	}, do: func(s *scene) error {
		id, _, _ := unstructured.NestedString(s.history.Find("memcacheds", "cache").Object, "status", "pending", "id")
		return s.edit("memcacheds", "cache", fmt.Sprintf(`{"spec":{"updates":{"release":%q}}}`, id))
	}}
	approveOnly := step{name: "approve", do: approve.do, done: hasNewImage}
	withdraw := step{name: "withdraw", done: approve.done, do: func(s *scene) error {
		return s.edit("memcacheds", "cache", `{"spec":{"updates":null}}`)
	}}
	agents := step{
		name: "upgrade", sizes: []int64{2}, do: func(*scene) error { return nil },
		done: func(s *scene) error { return errors.Join(ready("memcacheds", "cache", 2)(s), s.run("agent", agent)) },
	}
	return []*workload{
		{name: "upgrade-deployment", options: newDefault, prepare: released("v0.2.0.yaml", "Deployment", "size: 2"), prepared: twoPodsRun, steps: []step{pending, approve}},
		{name: "upgrade-withdrawn", options: newDefault, prepare: released("v0.2.0.yaml", "Deployment", "size: 2"), prepared: twoPodsRun, steps: []step{pending, approveOnly, withdraw}},
		{name: "upgrade-statefulset", prepare: released("v0.3.0.yaml", "StatefulSet", "size: 2\n  workload: StatefulSet"), prepared: twoPodsRun, steps: []step{agents}},
	}
}

// hasNewImage says whether the Deployment was given the new image. From then on, its pods are replaced.
func hasNewImage(s *scene) error {
	deployment := s.history.Find("deployments", "cache")
	if deployment == nil {
		return errNotThere
	}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if slices.ContainsFunc(containers, func(each any) bool { return each.(map[string]any)["image"] == newImage }) {
		return nil
	}
	return errors.New("the Deployment has another image")
}

// run says whether all pods run an image in a container.
func (s *scene) run(container, image string) error {
	for _, pod := range s.history.All("pods") {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
		for _, each := range containers {
			if c := each.(map[string]any); c["name"] == container && c["image"] != image {
				return fmt.Errorf("%s runs %v", pod.GetName(), c["image"])
			}
		}
	}
	return nil
}

// released creates a cache and the workload that an earlier release has made for it.
func released(file, kind, spec string) func(*scene) error {
	return func(s *scene) error {
		s.history.Allow(2)
		err := s.create("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache}\nspec:\n  " + spec)
		if err != nil {
			return err
		}
		owner := s.named("memcacheds", "cache")
		if err := cluster.Client.Get(s.Context(), client.ObjectKeyFromObject(owner), owner); err != nil {
			return err
		}
		raw, err := os.ReadFile(filepath.Join("..", "memcached", "desired", "testdata", "released", file))
		if err != nil {
			return err
		}
		digest := func(digit string) string { return "memcached@sha256:" + strings.Repeat(digit, 64) }
		text := strings.NewReplacer("example-memcached", "cache", "namespace: default", "namespace: "+s.namespace, "replicas: 3", "replicas: 2",
			"docker.io/library/"+digest("0"), image, "docker.io/library/"+digest("1"), image, "1.6.45", "1.6.18",
			"quay.io/example/memcached-operator@sha256:"+strings.Repeat("2", 64), oldAgent).Replace(string(raw))
		var plan struct{ Present []map[string]any }
		if err := yaml.Unmarshal([]byte(text), &plan); err != nil {
			return err
		}
		for _, content := range plan.Present {
			if object := (&unstructured.Unstructured{Object: content}); object.GetKind() == kind {
				if err := s.applyReleased(object, owner); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// twoPodsRun says whether two pods are running.
func twoPodsRun(s *scene) error {
	running := 0
	for _, pod := range s.history.All("pods") {
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "Running" {
			running++
		}
	}
	if running != 2 {
		return fmt.Errorf("%d pods are running", running)
	}
	return nil
}

// applyReleased applies a workload as an earlier release did.
func (s *scene) applyReleased(object, owner *unstructured.Unstructured) error {
	object.SetNamespace(s.namespace)
	annotations := map[string]string{"cache.example.com/applied-hash": "276749c4c1757382"} // Of v0.2.0.
	if object.GetKind() == "StatefulSet" {
		annotations = object.GetAnnotations()
		annotations["cache.example.com/applied-spec"] = `{"size":0,"workload":"StatefulSet"}`
	}
	object.SetAnnotations(annotations)
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	return cluster.Client.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("memcached-operator"), client.ForceOwnership)
}
