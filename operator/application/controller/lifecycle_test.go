package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// A new Application costs a write for the claim of its host, one for each of its four objects, one for its status, and no read.
func TestANewApplicationBecomesReadyWithSixWrites(t *testing.T) {
	s := newSuite(t)
	created := time.Now()
	s.create(sample())
	ready := s.awaitReady("application-sample", 2)

	if ready.Status.URL != "http://example.foo.com/" {
		t.Errorf("the URL is %q", ready.Status.URL)
	}
	for kind, want := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionReady: metav1.ConditionTrue, v1alpha1.ConditionAvailable: metav1.ConditionTrue,
		v1alpha1.ConditionProgressing: metav1.ConditionFalse, v1alpha1.ConditionDegraded: metav1.ConditionFalse,
	} {
		if !meta.IsStatusConditionPresentAndEqual(ready.Status.Conditions, kind, want) {
			t.Errorf("%s is not %s: %+v", kind, want, ready.Status.Conditions)
		}
	}
	for kind, child := range s.children("application-sample") {
		if err := s.Read(t.Context(), child); err != nil {
			t.Error(err)
		} else if !metav1.IsControlledBy(child, ready) {
			t.Errorf("%s is owned by %v", kind, child.GetOwnerReferences())
		}
	}
	s.AssertQuiet(s.everything("application-sample")...)
	writes := s.Operator.Traffic.Writes()
	if len(writes) == 0 || !strings.HasSuffix(writes[0].Path, "/status") {
		t.Fatalf("the host is not claimed first: %v", writes)
	}
	s.AssertWrites(5, created, writes[1:])
	if reads := s.Operator.Traffic.LiveReads(); len(reads) > 0 {
		t.Errorf("reads for a new application: %v", reads)
	}
	for _, write := range writes {
		if write.Method != http.MethodPatch || write.Code >= 300 {
			t.Errorf("unexpected write %v", write)
		}
	}
}

// What the tutorial looks at.
func TestTheSampleLooksAsInTheTutorial(t *testing.T) {
	s := newSuite(t)
	s.create(sample())
	s.awaitReady("application-sample", 2)
	service := testenv.MustGet[corev1.Service](s.Env, "application-sample")
	if service.Spec.Type != corev1.ServiceTypeClusterIP || len(service.Spec.Ports) != 1 ||
		service.Spec.Ports[0].Port != 8080 || service.Spec.Ports[0].Protocol != corev1.ProtocolTCP {
		t.Errorf("the Service is %+v", service.Spec)
	}
	ingress := testenv.MustGet[networkingv1.Ingress](s.Env, "application-sample")
	if *ingress.Spec.IngressClassName != "nginx" || ingress.Spec.Rules[0].Host != "example.foo.com" || len(ingress.Spec.TLS) > 0 {
		t.Errorf("the Ingress is %+v", ingress.Spec)
	}
	if pods, err := s.Pods(t.Context(), service.Spec.Selector); err != nil || len(pods) != 2 {
		t.Errorf("the Service has the pods %v: %v", pods, err)
	}
}

// Everything that a spec can say, in notations that the API server changes, comes to rest as well.
func TestAnApplicationThatUsesEverythingComesToRest(t *testing.T) {
	s := newSuite(t)
	s.create(sample().Caches("cache").Env("A", "1").Env("EMPTY", "").Spec(func(spec *v1alpha1.ApplicationSpec) {
		spec.Ingress.TLSSecret = "shop-tls"
		spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("0.5Gi")}
		spec.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(2000)), SupplementalGroups: []int64{3, 1}}
		spec.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1000)), Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}}
		spec.Env = append(spec.Env, v1alpha1.EnvVar{Name: "POD", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
		}}, v1alpha1.EnvVar{Name: "MEMORY", ValueFrom: &corev1.EnvVarSource{
			ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "requests.memory"},
		}})
	}))
	s.createCache("cache")
	if ready := s.awaitReady("application-sample", 2); ready.Status.URL != "https://example.foo.com/" {
		t.Errorf("the URL is %q", ready.Status.URL)
	}
	s.Await("the cache is at rest", func(ctx context.Context) error {
		cache := s.memcached("cache")
		if err := s.Read(ctx, cache); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(cache.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("status is %+v", cache.Status)
		}
		return nil
	})
	s.AssertQuiet(s.everything("application-sample")...)
}

// A cluster holds far more objects than are ours; they must not fill the operator's memory.
func TestOnlyOurObjectsAreWatched(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.AssertWatchesOnlyOurs()
}

func TestWhatIsTurnedOffIsDeleted(t *testing.T) {
	s := newSuite(t)
	s.create(sample())
	s.awaitReady("application-sample", 2)
	s.Edit(s.application("application-sample"), `{"spec":{"ingress":null,"replicas":1}}`)
	ready := s.awaitReady("application-sample", 1)
	if want := "http://application-sample." + s.Namespace + ".svc:8080"; ready.Status.URL != want {
		t.Errorf("the URL is %q, want %q", ready.Status.URL, want)
	}
	for _, kind := range []string{"Ingress", "PodDisruptionBudget"} {
		child := s.children("application-sample")[kind]
		if err := s.Read(t.Context(), child); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", kind, err)
		}
	}
	s.Edit(s.application("application-sample"), `{"spec":{"ingress":{"host":"b.example.com","path":"/shop"},"replicas":2}}`)
	if again := s.awaitReady("application-sample", 2); again.Status.URL != "http://b.example.com/shop" {
		t.Errorf("the URL is %q", again.Status.URL)
	}
	testenv.MustGet[policyv1.PodDisruptionBudget](s.Env, "application-sample")
}

func TestANewPortReplacesTheOldOne(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.Edit(s.application("web"), `{"spec":{"port":3000}}`)
	if ready := s.awaitReady("web", 1); ready.Status.URL != "http://web."+s.Namespace+".svc:3000" {
		t.Errorf("the URL is %q", ready.Status.URL)
	}
	if ports := testenv.MustGet[corev1.Service](s.Env, "web").Spec.Ports; len(ports) != 1 || ports[0].Port != 3000 {
		t.Errorf("the Service's ports are %+v", ports)
	}
	deployment := testenv.MustGet[appsv1.Deployment](s.Env, "web")
	if ports := deployment.Spec.Template.Spec.Containers[0].Ports; len(ports) != 1 || ports[0].ContainerPort != 3000 {
		t.Errorf("the container's ports are %+v", ports)
	}
}

func TestNoReplicaIsReady(t *testing.T) {
	s := newSuite(t)
	s.create(web().Replicas(0))
	s.awaitReady("web", 0)
	s.Edit(s.application("web"), `{"spec":{"replicas":null}}`) // The default is one.
	s.awaitReady("web", 1)
}

// kube-controller-manager creates pods without a limit of its own.
func TestMoreReplicasThanSupportedAreRefused(t *testing.T) {
	s := newSuite(t)
	s.create(testkit.MakeApplication("shop").Replicas(2))
	application := s.awaitReady("shop", 2)
	before := s.MustPods()
	s.Edit(application, `{"spec":{"replicas":1001}}`)
	if _, message := s.awaitReason(application, v1alpha1.ReasonTooManyPods); !strings.HasPrefix(message, "spec.replicas is 1001, and at most 1000 pods are supported") {
		t.Errorf("the message is %q", message)
	}
	if after := s.MustPods(); !maps.Equal(after, before) {
		t.Errorf("pods were %v, and are %v", before, after)
	}
	s.Edit(application, `{"spec":{"replicas":1}}`)
	s.awaitReady("shop", 1)
}

// The operator would hold the specs of all tenants in memory.
func TestASpecThatIsTooLargeIsRefused(t *testing.T) {
	s := newSuite(t)
	s.create(testkit.MakeApplication("shop").Replicas(2))
	application := s.awaitReady("shop", 2)
	before := s.MustPods()
	s.Edit(application, `{"spec":{"replicas":3,"env":[{"name":"LARGE","value":"`+strings.Repeat("x", 200<<10)+`"}]}}`)
	if _, message := s.awaitReason(application, v1alpha1.ReasonSpecTooLarge); !strings.HasPrefix(message, "spec has 204") {
		t.Errorf("the message is %q", message)
	}
	if after := s.MustPods(); !maps.Equal(after, before) {
		t.Errorf("pods were %v, and are %v", before, after)
	}
	s.Edit(application, `{"spec":{"env":null}}`)
	s.awaitReady("shop", 3)
}

func TestTheScaleSubresourceWorks(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.ScaleFromOne(s.application("web"), 3)
	s.awaitReady("web", 3)
}

// An operator that has just been upgraded or has just become the leader must not disturb anything.
func TestARestartedOperatorWritesNothing(t *testing.T) {
	s := newSuite(t)
	s.create(sample())
	s.awaitReady("application-sample", 2)
	s.AssertRestartWritesNothing(s.everything("application-sample")...)
}

func TestADeletedApplicationIsLeftToTheGarbageCollector(t *testing.T) {
	s := newSuite(t)
	object := s.create(sample())
	s.awaitReady("application-sample", 2)
	s.Delete(object)
	// No finalizer: it is gone at once.
	if _, err := testenv.Get[v1alpha1.Application](t.Context(), s.Env, "application-sample"); !apierrors.IsNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
	for kind, child := range s.children("application-sample") {
		s.Await(kind+" is gone", func(ctx context.Context) error {
			if err := s.Read(ctx, child); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
	}
}

func TestFailingPodsAreReported(t *testing.T) {
	s := newSuite(t)
	s.HoldContainers("ImagePullBackOff")
	object := s.create(web())
	_, message := s.awaitReason(object, v1alpha1.ReasonPodsFailing)
	for pod := range s.MustPods() {
		want := "1 of 1 pod is failing: pod " + pod + `: the image "` + object.Spec.Image + `" of container application cannot be pulled (ImagePullBackOff)`
		if message != want {
			t.Errorf("the message is %q, want %q", message, want)
		}
	}
}

func TestApplicationsOfOneNameInTwoNamespacesAreApart(t *testing.T) {
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	s.create(web().Replicas(1))
	s.create(testkit.MakeApplication("web").Namespace(other).Replicas(2))
	s.awaitReady("web", 1)
	s.Namespace = other
	s.awaitReady("web", 2)
}

// kubectl rollout restart sets an annotation in the pod template. It stays, and Kubernetes replaces the pods.
func TestARolloutRestartReplacesThePods(t *testing.T) {
	s := newSuite(t)
	s.create(testkit.MakeApplication("shop").Replicas(2))
	s.awaitReady("shop", 2)
	before := s.podsOf("shop")
	const annotation = "kubectl.kubernetes.io/restartedAt"
	s.Edit(testenv.Named[appsv1.Deployment](s.Env, "shop"),
		`{"spec":{"template":{"metadata":{"annotations":{"`+annotation+`":"2026-01-01T00:00:00Z"}}}}}`)
	s.Await("all pods are replaced", func(context.Context) error {
		if now := s.podsOf("shop"); len(now) != 2 || slices.ContainsFunc(now, func(pod string) bool { return slices.Contains(before, pod) }) {
			return fmt.Errorf("the pods are %v, before they were %v", now, before)
		}
		return nil
	})
	s.Edit(s.application("shop"), `{"spec":{"image":"registry.example.com/web:2"}}`)
	s.Await("the new image", func(ctx context.Context) error {
		deployment, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "shop")
		if err == nil && deployment.Spec.Template.Spec.Containers[0].Image != "registry.example.com/web:2" {
			return errors.New("the template has the old image")
		}
		return err
	})
	s.awaitReady("shop", 2)
	template := testenv.MustGet[appsv1.Deployment](s.Env, "shop").Spec.Template
	if template.Annotations[annotation] == "" {
		t.Errorf("the annotations of the template are %v", template.Annotations)
	}
}
