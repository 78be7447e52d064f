package status_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/application/desired"
	"github.com/example/memcached-operator/operator/application/status"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// web returns an Application of generation 7 that was created at testkit.Now.
func web() *testkit.Application {
	return testkit.MakeApplication("web").Replicas(2).Created(testkit.Now).Change(func(a *appv1alpha1.Application) { a.Generation = 7 })
}

func bound(name string) v1alpha1.Memcached {
	return *testkit.MakeMemcached(name).Status(v1alpha1.MemcachedStatus{
		Binding: &v1alpha1.MemcachedBinding{Name: name + "-binding"},
	}).Obj()
}

func unbound(name string) v1alpha1.Memcached {
	return *testkit.MakeMemcached(name).Status(v1alpha1.MemcachedStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady}}}).Obj()
}

func unreported(name string) v1alpha1.Memcached { return *testkit.MakeMemcached(name).Obj() }

// holder is an Application that has claimed the host a.example.com with a path.
func holder(namespace, path string) []desired.Rival {
	return []desired.Rival{{Application: testkit.MakeApplication("holder").Namespace(namespace).Ingress("a.example.com", path, "").Claims(testkit.Now).Obj()}}
}

// Each case gives the four conditions as "Ready Available Progressing Degraded", and Ready's message.
func TestConditionsOfAnApplication(t *testing.T) {
	for name, test := range map[string]struct {
		application *testkit.Application
		rivals      []desired.Rival
		caches      []v1alpha1.Memcached
		deployment  *appsv1.Deployment
		pods        []corev1.Pod
		err         error
		want        string
		message     string
	}{
		"all pods are ready": {
			application: web(), deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want:    "True/AllPodsReady True/AllPodsReady False/AsExpected False/AsExpected",
			message: "2 of 2 pods are ready",
		},
		"no pods are wanted and none run": {
			application: web().Replicas(0), deployment: testkit.Deployment(0, 0, 0),
			want:    "True/ScaledToZero True/ScaledToZero False/AsExpected False/AsExpected",
			message: "No pods are wanted and none run",
		},
		"no Deployment yet": {
			application: web(),
			want:        "False/PodsStarting False/NoPodReady True/PodsStarting False/AsExpected",
			message:     "Creating pods",
		},
		"pods are being replaced": {
			application: web(), deployment: testkit.Deployment(3, 1, 2), pods: testkit.Pods(3),
			want:    "False/PodsUpdating True/AllPodsReady True/PodsUpdating False/AsExpected",
			message: "1 of 2 pods are up to date",
		},
		"surplus pods are being stopped": {
			application: web().Replicas(1), deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want: "False/PodsStopping True/AllPodsReady True/PodsStopping False/AsExpected",
		},
		"some pods are starting": {
			application: web(), deployment: testkit.Deployment(2, 2, 1), pods: testkit.Pods(2),
			want:    "False/PodsStarting True/SomePodsReady True/PodsStarting False/AsExpected",
			message: "1 of 2 pods are ready",
		},
		"a container keeps exiting": {
			application: web(), deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.Container(func(c *corev1.ContainerStatus) {
				c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}
			})),
			want:    "False/PodsFailing True/SomePodsReady True/PodsStarting True/PodsFailing",
			message: "1 of 2 pods are failing: pod cache-0: the application keeps exiting (Error, exit code 1)",
		},
		"the image is not there, and must not be pulled": {
			application: web(), deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.WaitingFor("ErrImageNeverPull")),
			want:    "False/PodsFailing True/SomePodsReady True/PodsStarting True/PodsFailing",
			message: `1 of 2 pods are failing: pod cache-0: the image "memcached:1" of container memcached is not on the node (ErrImageNeverPull)`,
		},
		"a pod cannot be scheduled": {
			application: web(), deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available.",
				}}
			}),
			want:    "False/PodsUnschedulable True/SomePodsReady True/PodsStarting True/PodsUnschedulable",
			message: "A pod cannot be scheduled: 0/1 nodes are available.",
		},
		"a quota is exceeded": {
			application: web(), deployment: testkit.Deployment(1, 1, 1, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: small",
			}), pods: testkit.Pods(1),
			want:    "False/PodsRefused True/SomePodsReady True/PodsStarting True/PodsRefused",
			message: "Kubernetes refuses to create pods: exceeded quota: small",
		},
		"a cache does not exist": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a")}, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want:    "False/CacheNotFound True/AllPodsReady False/AsExpected True/CacheNotFound",
			message: "Memcached b does not exist in namespace default: create it, or remove it from spec.caches; the pods run without it",
		},
		"several caches do not exist": {
			application: web().Caches("c", "b", "a"), caches: []v1alpha1.Memcached{bound("b")}, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want:    "False/CacheNotFound True/AllPodsReady False/AsExpected True/CacheNotFound",
			message: "Memcacheds c, a do not exist in namespace default: create them, or remove them from spec.caches; the pods run without them",
		},
		"a cache has not published its address": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a"), unbound("b")}, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want:    "False/CacheNotBound True/AllPodsReady False/AsExpected True/CacheNotBound",
			message: "Memcached b has no status.binding yet: see kubectl describe memcached b",
		},
		"a cache is new": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a"), unreported("b")}, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want:    "False/CacheNotBound True/AllPodsReady True/CacheNotBound False/AsExpected",
			message: "Memcached b has no status.binding yet: see kubectl describe memcached b",
		},
		"a missing cache comes before one without an address": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{unbound("a")}, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want: "False/CacheNotFound True/AllPodsReady False/AsExpected True/CacheNotFound",
		},
		"all caches are bound": {
			application: web().Caches("a", "b"), caches: []v1alpha1.Memcached{bound("a"), bound("b")}, deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want: "True/AllPodsReady True/AllPodsReady False/AsExpected False/AsExpected",
		},
		"another Application has the host": {
			application: web().Ingress("a.example.com", "/", ""), rivals: holder("default", "/"), deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want: "False/HostConflict True/AllPodsReady False/AsExpected True/HostConflict",
			message: "Host a.example.com with path / belongs to Application holder, which had it first, so no Ingress is created: " +
				"choose another host or path, or change the other Application",
		},
		"an Application of another namespace has a host that overlaps": {
			application: web().Ingress("a.example.com", "/", ""), rivals: holder("secret", "/shop"), deployment: testkit.Deployment(2, 2, 2), pods: testkit.Pods(2),
			want: "False/HostConflict True/AllPodsReady False/AsExpected True/HostConflict",
			message: "Host a.example.com with path / belongs to, or overlaps with that of, an Application of another namespace, which had it first, so no Ingress is created: " +
				"choose another host or path, or change the other Application",
		},
		"a failed reconcile comes before all else": {
			application: web().Caches("a").Ingress("a.example.com", "/", ""), rivals: holder("default", "/"),
			err:     reconcileerror.Terminal(appv1alpha1.ReasonNameConflict, errors.New("Deployment web already exists")),
			want:    "False/NameConflict False/NoPodReady False/NameConflict True/NameConflict",
			message: "Deployment web already exists",
		},
		"a missing cache comes before failing pods, which may fail because of it": {
			application: web().Caches("a"), deployment: testkit.Deployment(2, 2, 1), pods: testkit.With(testkit.Pods(2), testkit.WaitingFor("ErrImagePull")),
			want: "False/CacheNotFound True/SomePodsReady True/PodsStarting True/CacheNotFound",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := desired.Inputs{Application: test.application.Obj(), Rivals: test.rivals, Caches: test.caches}
			got := status.Application(in, conditions.Reconcile{
				Observed: workload.Observed{Deployment: test.deployment, Pods: test.pods}, Err: test.err, Now: testkit.Now,
			})
			if summary := testkit.Summarise(t, got.Conditions); summary != test.want {
				t.Errorf("conditions are\n%s, want\n%s", summary, test.want)
			}
			ready := meta.FindStatusCondition(got.Conditions, appv1alpha1.ConditionReady)
			if test.message != "" && ready.Message != test.message {
				t.Errorf("Ready says %q, want %q", ready.Message, test.message)
			}
		})
	}
}

func TestURL(t *testing.T) {
	for name, test := range map[string]struct {
		application *testkit.Application
		present     string
		want        string
	}{
		"no object exists yet":       {application: web().Ingress("a.example.com", "/", "")},
		"only the Service":           {application: web(), present: "Service", want: "http://web.default.svc:8080"},
		"another port":               {application: web().Spec(func(s *appv1alpha1.ApplicationSpec) { s.Port = 3000 }), present: "Service", want: "http://web.default.svc:3000"},
		"an ingress":                 {application: web().Ingress("a.example.com", "", ""), present: "Service Ingress", want: "http://a.example.com/"},
		"an ingress with a path":     {application: web().Ingress("a.example.com", "/shop", ""), present: "Service Ingress", want: "http://a.example.com/shop"},
		"the Ingress does not exist": {application: web().Ingress("a.example.com", "/", ""), present: "Service", want: "http://web.default.svc:8080"},
		"an ingress with TLS": {
			application: web().Ingress("a.example.com", "/", "").Spec(func(s *appv1alpha1.ApplicationSpec) { s.Ingress.TLSSecret = "tls" }),
			present:     "Service Ingress", want: "https://a.example.com/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var observed workload.Observed
			for _, kind := range strings.Fields(test.present) {
				observed.Present = append(observed.Present, owned.Reference{
					GroupVersionKind: schema.GroupVersionKind{Kind: kind}, Namespace: "default", Name: "web",
				})
			}
			in := desired.Inputs{Application: test.application.Obj()}
			if got := status.Application(in, conditions.Reconcile{Observed: observed, Now: testkit.Now}); got.URL != test.want {
				t.Errorf("the URL is %q, want %q", got.URL, test.want)
			}
		})
	}
}

// A claim ends when the spec no longer asks for it and the Ingress for it is gone.
func TestWhenAClaimEnds(t *testing.T) {
	serving := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		Host: "a.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/"}}},
		},
	}}}}
	with := func() *testkit.Application { return web().Ingress("a.example.com", "/", "").Claims(testkit.Now) }
	without := with().Spec(func(s *appv1alpha1.ApplicationSpec) { s.Ingress = nil })
	earlier := []desired.Rival{{Application: testkit.MakeApplication("a").Ingress("a.example.com", "/", "").
		Claims(metav1.NewTime(testkit.Now.Add(-time.Hour))).Obj()}}
	for name, test := range map[string]struct {
		in    desired.Inputs
		stays bool
	}{
		"the spec asks for it":                       {in: desired.Inputs{Application: with().Obj(), Ingress: serving}, stays: true},
		"the spec asks for it, without an Ingress":   {in: desired.Inputs{Application: with().Obj()}, stays: true},
		"the spec asks for nothing":                  {in: desired.Inputs{Application: without.Obj()}},
		"the spec asks for nothing, with an Ingress": {in: desired.Inputs{Application: without.Obj(), Ingress: serving}, stays: true},
		"the spec asks for another path":             {in: desired.Inputs{Application: with().Ingress("a.example.com", "/shop", "").Obj()}},
		"somebody else has claimed it before":        {in: desired.Inputs{Application: with().Obj(), Rivals: earlier}},
	} {
		t.Run(name, func(t *testing.T) {
			got := status.Application(test.in, conditions.Reconcile{Now: testkit.Now})
			if stays := got.IngressClaim != nil; stays != test.stays {
				t.Errorf("the claim is %+v", got.IngressClaim)
			}
		})
	}
}

func TestStatusOfAnApplication(t *testing.T) {
	other := metav1.Condition{Type: "example.com/Other", Status: metav1.ConditionTrue, Reason: "Because", LastTransitionTime: testkit.Now}
	in := desired.Inputs{Application: web().Change(func(a *appv1alpha1.Application) {
		a.Status = appv1alpha1.ApplicationStatus{ObservedGeneration: 6, Conditions: []metav1.Condition{other}}
	}).Obj()}
	run := conditions.Reconcile{
		Observed: workload.Observed{Deployment: testkit.Deployment(3, 2, 1), Pods: testkit.Pods(3)}, Selector: "a=b", Err: errors.New("failed"), Now: testkit.Now,
	}
	failed := status.Application(in, run)
	if failed.ObservedGeneration != 6 || failed.Selector != "a=b" || failed.Replicas != 3 || failed.ReadyReplicas != 1 {
		t.Errorf("after a failed reconcile, the status is %+v", failed)
	}
	if kept := meta.FindStatusCondition(failed.Conditions, other.Type); kept == nil || *kept != other {
		t.Errorf("the condition of another client became %+v", kept)
	}
	run.Err = nil
	first := status.Application(in, run)
	if first.ObservedGeneration != 7 {
		t.Errorf("after a successful reconcile, observedGeneration is %d", first.ObservedGeneration)
	}
	in.Application.Status = first
	run.Now = metav1.NewTime(testkit.Now.Add(time.Hour))
	if difference := cmp.Diff(first, status.Application(in, run)); difference != "" {
		t.Errorf("an hour later the status differs:\n%s", difference)
	}
}
