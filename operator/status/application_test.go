package status_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/outcome"
	"github.com/example/memcached-operator/operator/scope"
	"github.com/example/memcached-operator/operator/status"
	operatortesting "github.com/example/memcached-operator/operator/testing"
)

// web returns an Application of generation 7 that was created at testkit.Now.
func web() *operatortesting.Application {
	return operatortesting.MakeApplication("web").Generation(7).Replicas(2).Created(operatortesting.Now)
}

func bound(name string) v1alpha1.Memcached {
	return *operatortesting.MakeMemcached(name).Status(v1alpha1.MemcachedStatus{
		Binding: &v1alpha1.MemcachedBinding{Name: name + "-binding"},
	}).Obj()
}

func unbound(name string) v1alpha1.Memcached { return *operatortesting.MakeMemcached(name).Obj() }

// elder is an Application that holds the host a.example.com.
func elder(namespace string) []appv1alpha1.Application {
	return []appv1alpha1.Application{*operatortesting.MakeApplication("elder").Namespace(namespace).
		Created(metav1.NewTime(operatortesting.Now.Add(-time.Hour))).Ingress("a.example.com", "/", "").Obj()}
}

// Each case gives the four conditions as "Ready Available Progressing Degraded", and Ready's message.
func TestConditionsOfAnApplication(t *testing.T) {
	for name, test := range map[string]struct {
		application *operatortesting.Application
		claimants   []appv1alpha1.Application
		caches      []v1alpha1.Memcached
		deployment  *appsv1.Deployment
		pods        []corev1.Pod
		err         error
		want        string
		message     string
	}{
		"all pods are ready": {
			application: web(), deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want:    "True/AllPodsReady True/AllPodsReady False/AsExpected False/AsExpected",
			message: "2 of 2 pods are ready",
		},
		"no pod is wanted and none runs": {
			application: web().Replicas(0), deployment: operatortesting.Deployment(0, 0, 0),
			want:    "True/ScaledToZero True/ScaledToZero False/AsExpected False/AsExpected",
			message: "No pod is wanted, and none runs",
		},
		"no Deployment yet": {
			application: web(),
			want:        "False/PodsStarting False/NoPodReady True/PodsStarting False/AsExpected",
			message:     "The pods are about to be created",
		},
		"pods are being replaced": {
			application: web(), deployment: operatortesting.Deployment(3, 1, 2), pods: operatortesting.Pods(3),
			want:    "False/PodsUpdating True/AllPodsReady True/PodsUpdating False/AsExpected",
			message: "1 of 2 pods are replaced",
		},
		"surplus pods are being stopped": {
			application: web().Replicas(1), deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want: "False/PodsStopping True/AllPodsReady True/PodsStopping False/AsExpected",
		},
		"some pods are starting": {
			application: web(), deployment: operatortesting.Deployment(2, 2, 1), pods: operatortesting.Pods(2),
			want:    "False/PodsStarting True/SomePodsReady True/PodsStarting False/AsExpected",
			message: "1 of 2 pods are ready",
		},
		"a container does not keep running": {
			application: web(), deployment: operatortesting.Deployment(2, 2, 1), pods: operatortesting.With(operatortesting.Pods(2), operatortesting.Container(func(c *corev1.ContainerStatus) {
				c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}
			})),
			want:    "False/PodsFailing True/SomePodsReady True/PodsStarting True/PodsFailing",
			message: "1 of 2 pods are failing: the application does not keep running (Error, exit code 1)",
		},
		"the image is not there, and must not be pulled": {
			application: web(), deployment: operatortesting.Deployment(2, 2, 1), pods: operatortesting.With(operatortesting.Pods(2), operatortesting.WaitingFor("ErrImageNeverPull")),
			want:    "False/PodsFailing True/SomePodsReady True/PodsStarting True/PodsFailing",
			message: "1 of 2 pods are failing: the image is not on the machine (ErrImageNeverPull)",
		},
		"no machine has room": {
			application: web(), deployment: operatortesting.Deployment(2, 2, 1), pods: operatortesting.With(operatortesting.Pods(2), func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available.",
				}}
			}),
			want:    "False/PodsUnschedulable True/SomePodsReady True/PodsStarting True/PodsUnschedulable",
			message: "No machine has room for a pod: 0/1 nodes are available.",
		},
		"a quota is used up": {
			application: web(), deployment: operatortesting.Deployment(1, 1, 1, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: small",
			}), pods: operatortesting.Pods(1),
			want:    "False/PodsRefused True/SomePodsReady True/PodsStarting True/PodsRefused",
			message: "Kubernetes refuses to create pods: exceeded quota: small",
		},
		"a cache is missing": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a")}, deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want:    "False/CacheNotFound True/AllPodsReady False/AsExpected True/CacheNotFound",
			message: "Memcached b is not found in namespace default: create it, or remove it from spec.caches; the pods run without",
		},
		"several caches are missing": {
			application: web().Caches("c", "b", "a"), caches: []v1alpha1.Memcached{bound("b")}, deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want:    "False/CacheNotFound True/AllPodsReady False/AsExpected True/CacheNotFound",
			message: "Memcacheds c, a are not found in namespace default: create them, or remove them from spec.caches; the pods run without",
		},
		"a cache has not published its address": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a"), unbound("b")}, deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want:    "False/CacheNotBound True/AllPodsReady False/AsExpected True/CacheNotBound",
			message: "Memcached b is without status.binding yet: kubectl describe memcached b says why",
		},
		"a missing cache comes before one without an address": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{unbound("a")}, deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want: "False/CacheNotFound True/AllPodsReady False/AsExpected True/CacheNotFound",
		},
		"all caches are there": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a"), bound("b")}, deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want: "True/AllPodsReady True/AllPodsReady False/AsExpected False/AsExpected",
		},
		"an older one has the host": {
			application: web().Ingress("a.example.com", "/", ""), claimants: elder("default"), deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want: "False/HostConflict True/AllPodsReady False/AsExpected True/HostConflict",
			message: "Host a.example.com with path / belongs to Application elder, which is older, so there is no Ingress; " +
				"choose another host or path, or let the other one go",
		},
		"an older one of another namespace has the host": {
			application: web().Ingress("a.example.com", "/", ""), claimants: elder("secret"), deployment: operatortesting.Deployment(2, 2, 2), pods: operatortesting.Pods(2),
			want: "False/HostConflict True/AllPodsReady False/AsExpected True/HostConflict",
			message: "Host a.example.com with path / belongs to an Application of another namespace, which is older, so there is no Ingress; " +
				"choose another host or path, or let the other one go",
		},
		"a failed pass comes before all else": {
			application: web().Caches("a").Ingress("a.example.com", "/", ""), claimants: elder("default"),
			err:     outcome.Terminal(appv1alpha1.ReasonNameConflict, errors.New("Deployment web exists already")),
			want:    "False/NameConflict False/NoPodReady False/NameConflict True/NameConflict",
			message: "Deployment web exists already",
		},
		"a missing cache comes before failing pods, which may fail because of it": {
			application: web().Caches("a"), deployment: operatortesting.Deployment(2, 2, 1), pods: operatortesting.With(operatortesting.Pods(2), operatortesting.WaitingFor("ErrImagePull")),
			want: "False/CacheNotFound True/SomePodsReady True/PodsStarting True/CacheNotFound",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := scope.ApplicationInputs{Application: test.application.Obj(), Claimants: test.claimants, Caches: test.caches}
			got := status.Application(in, status.Pass{
				Observed: scope.Observed{Deployment: test.deployment, Pods: test.pods}, Err: test.err, Now: operatortesting.Now,
			})
			if summary := operatortesting.Summarise(t, got.Conditions); summary != test.want {
				t.Errorf("conditions are\n%s, want\n%s", summary, test.want)
			}
			ready := meta.FindStatusCondition(got.Conditions, appv1alpha1.ConditionReady)
			if test.message != "" && ready.Message != test.message {
				t.Errorf("Ready says %q, want %q", ready.Message, test.message)
			}
		})
	}
}

func TestTheURLIsTheBestWayThereIs(t *testing.T) {
	for name, test := range map[string]struct {
		application *operatortesting.Application
		present     string
		want        string
	}{
		"nothing is there yet":        {application: web().Ingress("a.example.com", "/", "")},
		"only the Service":            {application: web(), present: "Service", want: "http://web.default.svc:8080"},
		"another port":                {application: web().Spec(func(s *appv1alpha1.ApplicationSpec) { s.Port = 3000 }), present: "Service", want: "http://web.default.svc:3000"},
		"an ingress":                  {application: web().Ingress("a.example.com", "", ""), present: "Service Ingress", want: "http://a.example.com/"},
		"an ingress with a path":      {application: web().Ingress("a.example.com", "/shop", ""), present: "Service Ingress", want: "http://a.example.com/shop"},
		"the Ingress is not made yet": {application: web().Ingress("a.example.com", "/", ""), present: "Service", want: "http://web.default.svc:8080"},
		"an ingress with TLS": {
			application: web().Ingress("a.example.com", "/", "").Spec(func(s *appv1alpha1.ApplicationSpec) { s.Ingress.TLSSecret = "tls" }),
			present:     "Service Ingress", want: "https://a.example.com/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var observed scope.Observed
			for _, kind := range strings.Fields(test.present) {
				observed.Present = append(observed.Present, scope.Reference{
					GroupVersionKind: schema.GroupVersionKind{Kind: kind}, Namespace: "default", Name: "web",
				})
			}
			in := scope.ApplicationInputs{Application: test.application.Obj()}
			if got := status.Application(in, status.Pass{Observed: observed, Now: operatortesting.Now}); got.URL != test.want {
				t.Errorf("the URL is %q, want %q", got.URL, test.want)
			}
		})
	}
}

func TestTheRestOfAnApplicationsStatus(t *testing.T) {
	other := metav1.Condition{Type: "example.com/Other", Status: metav1.ConditionTrue, Reason: "Because", LastTransitionTime: operatortesting.Now}
	in := scope.ApplicationInputs{Application: web().Status(appv1alpha1.ApplicationStatus{
		ObservedGeneration: 6, Conditions: []metav1.Condition{other},
	}).Obj()}
	pass := status.Pass{
		Observed: scope.Observed{Deployment: operatortesting.Deployment(3, 2, 1), Pods: operatortesting.Pods(3)}, Selector: "a=b", Err: errors.New("failed"), Now: operatortesting.Now,
	}
	failed := status.Application(in, pass)
	if failed.ObservedGeneration != 6 || failed.Selector != "a=b" || failed.Replicas != 3 || failed.ReadyReplicas != 1 {
		t.Errorf("after a failed pass the status is %+v", failed)
	}
	if kept := meta.FindStatusCondition(failed.Conditions, other.Type); kept == nil || *kept != other {
		t.Errorf("the condition of somebody else became %+v", kept)
	}
	pass.Err = nil
	first := status.Application(in, pass)
	if first.ObservedGeneration != 7 {
		t.Errorf("after a successful pass observedGeneration is %d", first.ObservedGeneration)
	}
	in.Application.Status = first
	pass.Now = metav1.NewTime(operatortesting.Now.Add(time.Hour))
	if difference := cmp.Diff(first, status.Application(in, pass)); difference != "" {
		t.Errorf("an hour later the status differs:\n%s", difference)
	}
}
