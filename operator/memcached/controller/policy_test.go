package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/kube/workload"
)

const (
	oldAgent, newAgent = "quay.io/example/memcached-operator:v1", "quay.io/example/memcached-operator:v2"
	preset             = `[JSONPatch{op: "add", path: "/spec/template/spec/priorityClassName", value: "gold"}]`
	withoutTeam        = `[JSONPatch{op: "remove", path: "/spec/template/metadata/annotations/team"}]`
	anyObject          = "true"
	mirrorAgents       = `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror.example.com/" + object.spec.template.spec.containers[0].image}]`
	notMirrored        = `!object.spec.template.spec.containers[0].image.startsWith("mirror.example.com/")`
)

// releasedStatefulSet creates a cache of two pods in a StatefulSet, as v0.3.0 left it. The operator does not run.
func releasedStatefulSet(t *testing.T) *suite {
	t.Helper()
	s := newSuite(t)
	s.Operator.Stop()
	cache := s.create("cache", 2, inStatefulSet)
	raw, err := os.ReadFile("../desired/testdata/released/v0.3.0.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), "example-memcached", "cache")
	text = strings.ReplaceAll(text, "docker.io/library/memcached@sha256:"+strings.Repeat("1", 64), image)
	text = strings.ReplaceAll(text, "quay.io/example/memcached-operator@sha256:"+strings.Repeat("2", 64), oldAgent)
	text = strings.NewReplacer("replicas: 3", "replicas: 2", "1.6.45", "1.6.18", "namespace: default", "namespace: "+s.Namespace).Replace(text)
	var plan struct{ Present []map[string]any }
	if err := yaml.Unmarshal([]byte(text), &plan); err != nil {
		t.Fatal(err)
	}
	for _, content := range plan.Present {
		object := &unstructured.Unstructured{Object: content}
		if object.GetKind() != "StatefulSet" {
			continue
		}
		object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))})
		// v0.3.0 applied the spec of this cache, which asks for a StatefulSet and nothing else.
		annotations := object.GetAnnotations()
		annotations["cache.example.com/applied-spec"] = `{"size":0,"workload":"StatefulSet"}`
		object.SetAnnotations(annotations)
		configuration := client.ApplyConfigurationFromUnstructured(object)
		if err := cluster.Client.Apply(t.Context(), configuration, client.FieldOwner("memcached-operator"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	s.Await("two pods", func(ctx context.Context) error {
		set, err := testenv.Get[appsv1.StatefulSet](ctx, s.Env, "cache")
		if err == nil && (set.Status.ReadyReplicas != 2 || set.Status.ObservedGeneration != set.Generation) {
			err = fmt.Errorf("the status is %+v", set.Status)
		}
		return err
	})
	return s
}

// upgrade starts the operator with another image of its agent, as the next release does.
func (s *suite) upgrade() {
	s.Helper()
	s.Operator.Stop()
	s.Options.Images.Agent = newAgent
	s.StartOperator()
}

// awaitAgents waits until all pods are up to date and run an image of the agent.
func (s *suite) awaitAgents(image string) {
	s.Helper()
	s.Await("all pods run the agent "+image, func(ctx context.Context) error {
		set, err := testenv.Get[appsv1.StatefulSet](ctx, s.Env, "cache")
		if err != nil || set.Status.UpdatedReplicas != 2 || set.Status.ReadyReplicas != 2 {
			return errors.Join(err, errors.New("not all pods are ready and up to date"))
		}
		for name := range s.MustPods() {
			pod, err := testenv.Get[corev1.Pod](ctx, s.Env, name)
			if err != nil {
				return err
			}
			if got := pod.Spec.Containers[1].Image; got != image {
				return fmt.Errorf("%s runs %s", name, got)
			}
		}
		return nil
	})
}

// v0.3.1 replaced every pod here: the priority that the policy had added was taken for a change of the operator's.
func TestAnUpgradeBesideAPolicyForTemplatesReplacesNoPod(t *testing.T) {
	s := releasedStatefulSet(t)
	before := s.MustPods()
	s.MutateTemplates("preset", anyObject, preset)
	s.upgrade()
	s.awaitAgents(newAgent)
	s.keeps(before)
	if set := testenv.MustGet[appsv1.StatefulSet](s.Env, "cache"); set.Spec.Template.Spec.PriorityClassName != "gold" {
		t.Error("the policy has not changed the template, so this shows nothing")
	}
}

// A policy that rewrites the image of memcached whenever a pod is written would restart memcached along with any change of the pod.
func TestAPolicyForRunningPodsRestartsNothing(t *testing.T) {
	s := newSuite(t)
	before := s.createReady(inStatefulSet)
	remove := s.MutateUpdatedPods("mirror", "cache-1", `object.metadata.name.startsWith("cache-") && object.spec.containers[0].name == "memcached"`,
		`[JSONPatch{op: "replace", path: "/spec/containers/0/image", value: "mirror.example.com/memcached:1"}]`)
	s.upgrade()
	want := "cache-1 is not changed, because an admission policy or webhook would change the image of container memcached as well, from " +
		image + " to mirror.example.com/memcached:1, and the container would restart"
	if message := s.awaitReason(v1alpha1.ReasonUpdateStuck); message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	remove()
	s.awaitAgents(newAgent)
	for name, uid := range before {
		if pod := testenv.MustGet[corev1.Pod](s.Env, name); pod.UID != uid || pod.Spec.Containers[0].Image != image {
			t.Errorf("%s was replaced, or runs %s", name, pod.Spec.Containers[0].Image)
		}
	}
}

// A policy that had moved the image of a Deployment of an earlier release to a mirror leaves nothing to write, and nothing is pending.
func TestADeploymentOfAnEarlierReleaseWithAMirror(t *testing.T) {
	s := newSuite(t)
	s.MutateTemplates("mirror", notMirrored, mirrorAgents)
	s.Operator.Stop()
	cache := s.create("cache", 2)
	deployment := releasedDeployment(t)
	deployment.SetNamespace(s.Namespace)
	deployment.SetName("cache")
	deployment.SetAnnotations(map[string]string{"cache.example.com/applied-hash": "276749c4c1757382"})
	deployment.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))})
	template, _, err := unstructured.NestedMap(deployment.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	annotations := deployment.GetAnnotations()
	annotations["cache.example.com/applied-spec"], annotations["cache.example.com/applied-template"] = `{"size":0}`, string(recorded)
	deployment.SetAnnotations(annotations)
	configuration := client.ApplyConfigurationFromUnstructured(deployment)
	if err := cluster.Client.Apply(t.Context(), configuration, client.FieldOwner("memcached-operator"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	s.StartOperator()
	s.awaitReady("cache", 2)
	before := s.MustPods()
	s.pending(false)
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	s.awaitReady("cache", 3)
	if waits := s.pending(false).Status.Pending; waits != nil {
		t.Errorf("pending is %+v", waits)
	}
	s.keeps(before)
}

// A policy may rewrite what the operator sets: pods get what the policy leaves, and nobody writes the workload again and again.
func TestAPolicyThatRewritesImages(t *testing.T) {
	for _, workload := range []v1alpha1.WorkloadKind{v1alpha1.WorkloadStatefulSet, v1alpha1.WorkloadDeployment} {
		t.Run(string(workload), func(t *testing.T) {
			s := newSuite(t)
			s.MutateTemplates("mirror", notMirrored, mirrorAgents)
			before := s.createReady(func(spec *v1alpha1.MemcachedSpec) { spec.Workload = workload })
			for name := range before {
				if pod := testenv.MustGet[corev1.Pod](s.Env, name); pod.Spec.Containers[0].Image != "mirror.example.com/"+image {
					t.Errorf("%s runs %s", name, pod.Spec.Containers[0].Image)
				}
			}
			var object client.Object = s.deployment("cache")
			if workload == v1alpha1.WorkloadStatefulSet {
				object = testenv.Named[appsv1.StatefulSet](s.Env, "cache")
			}
			s.AssertQuiet(s.memcached("cache"), object)
			s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
			s.awaitReady("cache", 3)
			s.keeps(before)
		})
	}
}

// Kubernetes replaces the pods of a Deployment for whatever a policy adds to its template. So only a change of the template that the
// user makes is written, and a new size goes another way.
func TestADeploymentBesideAPolicyKeepsItsPods(t *testing.T) {
	s := released(t)
	s.pending(true)
	s.awaitReady("cache", 2)
	before := s.MustPods()
	s.MutateTemplates("preset", anyObject, preset)
	s.Operator.Stop()
	s.StartOperator()
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	s.awaitReady("cache", 3)
	s.keeps(before)
	if found := testenv.MustGet[appsv1.Deployment](s.Env, "cache"); found.Spec.Template.Spec.PriorityClassName != "" {
		t.Error("the policy has changed the template")
	}
	s.Edit(s.memcached("cache"), `{"spec":{"threads":2}}`)
	s.Await("the policy's priority, along with the user's change", func(ctx context.Context) error {
		found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
		if err == nil && found.Spec.Template.Spec.PriorityClassName != "gold" {
			err = errors.New("it has none")
		}
		return err
	})
}

// A write that is not about the template waits if a policy would replace the pods along with it, and the user may approve it.
func TestAWriteThatWouldReplacePodsWaits(t *testing.T) {
	for name, test := range map[string]struct{ mutation, field string }{
		"a policy adds a field":    {preset, "template.spec.priorityClassName"},
		"a policy removes a field": {withoutTeam, "template.metadata.annotations.team"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			s.create("cache", 2)
			s.awaitReady("cache", 2)
			s.Edit(s.deployment("cache"), `{"spec":{"template":{"metadata":{"annotations":{"team":"shop"}}}}}`)
			s.Await("the pods with the annotation that somebody has added", func(ctx context.Context) error {
				found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
				if err == nil && !workload.OfDeployment(found).Complete() {
					err = fmt.Errorf("the status is %+v", found.Status)
				}
				return err
			})
			s.awaitReady("cache", 2)
			before := s.MustPods()
			s.Operator.Stop()
			s.Edit(s.deployment("cache"), `{"metadata":{"labels":{"app.kubernetes.io/part-of":"another"}}}`)
			s.MutateTemplates("policy", anyObject, test.mutation)
			s.StartOperator()
			waits := s.pending(true).Status.Pending
			if len(waits.Changes) != 1 || waits.Changes[0].Field != test.field {
				t.Errorf("pending is %+v", waits)
			}
			s.awaitReady("cache", 2)
			s.keeps(before)
			s.Edit(s.memcached("cache"), `{"spec":{"updates":{"release":"`+waits.ID+`"}}}`)
			s.pending(false)
			if found := testenv.MustGet[appsv1.Deployment](s.Env, "cache"); found.Labels["app.kubernetes.io/part-of"] != "cache" {
				t.Errorf("the labels are %v", found.Labels)
			}
		})
	}
}

// The Service publishes pods that are not ready while their agents restart, and ready pods alone afterwards.
func TestAnUpgradeKeepsPodsInTheService(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2, inStatefulSet, func(spec *v1alpha1.MemcachedSpec) { spec.Service = &v1alpha1.MemcachedService{} })
	s.awaitReady("cache", 2)
	s.upgrade()
	s.awaitAgents(newAgent)
	s.Await("the Service to publish ready pods alone", func(ctx context.Context) error {
		service, err := testenv.Get[corev1.Service](ctx, s.Env, "cache")
		if err == nil && service.Spec.PublishNotReadyAddresses {
			err = errors.New("it publishes all")
		}
		return err
	})
	var order []string
	for _, write := range s.Operator.Traffic.Writes() {
		if strings.HasSuffix(write.Path, "/services/cache") || strings.HasSuffix(write.Path, "/pods/cache-1") {
			order = append(order, write.Path[strings.LastIndex(write.Path, "/")+1:])
		}
	}
	// The announcement, the Service, the agent's image, the label with the revision.
	if got := strings.Join(order[:min(len(order), 4)], " "); got != "cache-1 cache cache-1 cache-1" {
		t.Errorf("the writes are %s", got)
	}
}
