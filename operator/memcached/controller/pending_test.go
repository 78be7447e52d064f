package controller_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/kube/apply"
)

// released makes a cache of two nodes as v0.1.0 and v0.2.0 did, then starts the operator.
func released(t *testing.T) *suite {
	t.Helper()
	s := newSuite(t)
	s.Operator.Stop()
	cache := s.create("cache", 2)
	deployment := releasedDeployment(t)
	deployment.SetNamespace(s.Namespace)
	deployment.SetName("cache")
	owner := metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))
	deployment.SetAnnotations(map[string]string{apply.HashAnnotation: "276749c4c1757382"})
	deployment.SetOwnerReferences([]metav1.OwnerReference{*owner})
	configuration := client.ApplyConfigurationFromUnstructured(deployment)
	if err := cluster.Client.Apply(t.Context(), configuration, client.FieldOwner("memcached-operator"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	s.Options.Images = nextImages
	s.StartOperator()
	return s
}

// releasedDeployment returns what v0.2.0 applied, for a cache of two nodes of the name "cache".
func releasedDeployment(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile("../desired/testdata/released/v0.2.0.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), "example-memcached", "cache")
	text = strings.ReplaceAll(text, "docker.io/library/memcached@sha256:"+strings.Repeat("0", 64), image)
	text = strings.ReplaceAll(text, "replicas: 3", "replicas: 2")
	var plan struct{ Present []map[string]any }
	if err := yaml.Unmarshal([]byte(text), &plan); err != nil {
		t.Fatal(err)
	}
	delete(plan.Present[0]["metadata"].(map[string]any), "ownerReferences")
	return &unstructured.Unstructured{Object: plan.Present[0]}
}

// pending waits until a change waits for approval, or none does.
func (s *suite) pending(waits bool) *v1alpha1.Memcached {
	s.Helper()
	var found *v1alpha1.Memcached
	s.Await(fmt.Sprintf("a change waits: %t", waits), func(ctx context.Context) error {
		var err error
		if found, err = testenv.Get[v1alpha1.Memcached](ctx, s.Env, "cache"); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionUpdatePending)
		if condition == nil || condition.Status == metav1.ConditionTrue != waits || (found.Status.Pending != nil) != waits {
			return fmt.Errorf("status is %+v", found.Status)
		}
		return nil
	})
	return found
}

// A cache that an earlier version of the operator made keeps its pods, says what waits, and gets it when it is released.
func TestACacheOfAnEarlierReleaseKeepsItsPodsUntilReleased(t *testing.T) {
	s := released(t)
	waits := s.pending(true)
	nodes := s.awaitReady("cache", 2).Status.Nodes
	s.awaitBinding()
	s.awaitWork(false)
	if change := waits.Status.Pending.Changes[0]; change.Field != "image" || change.From != image || change.To != newImage {
		t.Errorf("pending is %+v", waits.Status.Pending)
	}
	message := meta.FindStatusCondition(waits.Status.Conditions, v1alpha1.ConditionUpdatePending).Message
	if !strings.Contains(message, `"release":"`+waits.Status.Pending.ID+`"`) {
		t.Errorf("the message does not say how to release it: %s", message)
	}
	s.AssertQuiet(s.memcached("cache"), s.deployment("cache"))

	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	if now := s.awaitReady("cache", 3).Status.Nodes; !contains(now, nodes) {
		t.Errorf("with a new size, nodes %v became %v", nodes, now)
	}
	s.Edit(s.memcached("cache"), `{"spec":{"updates":{"release":"`+waits.Status.Pending.ID+`"}}}`)
	s.pending(false)
	s.awaitImage(newImage)
	if now := s.awaitReady("cache", 3).Status.Nodes; contains(now, nodes[:1]) {
		t.Errorf("after the release, nodes %v are still among %v", nodes, now)
	}
}

// What waits must not be lost to somebody who edits the Deployment, or to an operator that starts anew.
func TestWhatIsPendingIsPutBackAndRemembered(t *testing.T) {
	s := released(t)
	s.pending(true)
	s.Edit(s.deployment("cache"), `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"x"}]}}}}`)
	s.awaitImage(image)
	s.AwaitEvent(v1alpha1.EventDriftRepaired, "Deployment cache", "image")
	s.Operator.Stop()
	s.StartOperator()
	s.pending(true)
	s.awaitImage(image)
}

// A change of the user's that replaces the pods anyway takes with it what waits.
func TestAChangeOfTheUsersIsNotPending(t *testing.T) {
	s := released(t)
	s.pending(true)
	s.Edit(s.memcached("cache"), `{"spec":{"threads":2}}`)
	s.pending(false)
	s.awaitImage(newImage)
	found, err := testenv.Get[appsv1.Deployment](t.Context(), s.Env, "cache")
	if err != nil || !strings.Contains(strings.Join(found.Spec.Template.Spec.Containers[0].Args, " "), "-t 2") {
		t.Errorf("%v: the Deployment is %+v", err, found.Spec.Template)
	}
}

// A wrong spec changes nothing of what runs, says what is wrong, and a right one replaces it.
func TestAWrongSpecLosesNothing(t *testing.T) {
	for name, test := range map[string]struct{ wrong, reason, says string }{
		"an unknown version":           {`{"version":"1.5.0"}`, v1alpha1.ReasonUnknownVersion, "choose one of 1.6.18"},
		"too little memory":            {`{"resources":{"limits":{"memory":"32Mi"}}}`, v1alpha1.ReasonInvalidSizing, "Set at least"},
		"an argument that has a field": {`{"extraArgs":["-m","9"]}`, v1alpha1.ReasonInvalidArguments, "spec.cacheMemory"},
		"a Secret that is not there":   {`{"auth":{"secretName":"users"}}`, v1alpha1.ReasonSecretNotFound, "there is no Secret users"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			s.create("cache", 2)
			nodes := s.awaitReady("cache", 2).Status.Nodes
			s.Edit(s.memcached("cache"), `{"spec":`+test.wrong+`}`)
			if message := s.awaitReason(test.reason); !strings.Contains(message, test.says) {
				t.Errorf("the message is %q, want %q", message, test.says)
			}
			s.Edit(s.memcached("cache"), `{"spec":{"version":null,"resources":null,"extraArgs":null,"auth":null}}`)
			if now := s.awaitReady("cache", 2).Status.Nodes; cmp.Diff(nodes, now) != "" {
				t.Errorf("nodes %v became %v", nodes, now)
			}
		})
	}
}

// awaitImage waits until the Deployment runs an image.
func (s *suite) awaitImage(want string) {
	s.Helper()
	s.Await("the Deployment runs "+want, func(ctx context.Context) error {
		found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
		if err == nil && found.Spec.Template.Spec.Containers[0].Image != want {
			err = errors.New(found.Spec.Template.Spec.Containers[0].Image)
		}
		return err
	})
}

// contains tells whether all of some are among the names.
func contains(names, some []string) bool {
	for _, name := range some {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			return false
		}
	}
	return true
}
