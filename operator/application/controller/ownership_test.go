package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// foreign returns an object of each kind as somebody else might have made it.
func foreign() map[string]client.Object {
	selector := map[string]string{"app": "foreign"}
	return map[string]client.Object{
		"Deployment": &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "foreign", Image: "foreign"}}},
			},
		}},
		"Service": &corev1.Service{Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}}},
		"Ingress": &networkingv1.Ingress{Spec: networkingv1.IngressSpec{
			DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
				Name: "foreign", Port: networkingv1.ServiceBackendPort{Number: 80},
			}},
		}},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector}, MinAvailable: new(intstr.FromInt32(1)),
		}},
	}
}

func TestAForeignObjectIsLeftAloneUntilItIsGone(t *testing.T) {
	for kind, object := range foreign() {
		t.Run(kind, func(t *testing.T) {
			s := newSuite(t)
			object.SetNamespace(s.Namespace)
			object.SetName("application-sample")
			s.Create(object)
			want := specOf(t, object)
			created := s.create(sample())
			found, message := s.awaitReason(created, v1alpha1.ReasonNameConflict)
			if !strings.Contains(message, kind+" application-sample already exists and does not belong to this Application") ||
				!strings.Contains(message, "delete or rename it") {
				t.Errorf("the message does not say what is wrong and how to mend it: %q", message)
			}
			s.AwaitEvent(v1alpha1.ReasonNameConflict, kind+" application-sample")
			if found.Status.ObservedGeneration != 0 {
				t.Errorf("observedGeneration is %d", found.Status.ObservedGeneration)
			}
			if (kind == "Ingress" || kind == "Service") && strings.Contains(found.Status.URL, "example.foo.com") {
				t.Errorf("the URL is that of somebody else: %q", found.Status.URL)
			}
			if err := s.Read(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(want, specOf(t, object)); difference != "" || len(object.GetOwnerReferences())+len(object.GetLabels()) > 0 {
				t.Errorf("the foreign %s was changed: %s %v %v", kind, difference, object.GetOwnerReferences(), object.GetLabels())
			}
			s.Delete(object)
			s.Edit(s.application("application-sample"), `{"spec":{"replicas":3}}`) // Otherwise it is looked at within a minute.
			s.awaitReady("application-sample", 3)
		})
	}
}

// What is turned off is deleted only if it is ours.
func TestAForeignObjectIsNotDeleted(t *testing.T) {
	s := newSuite(t)
	for _, kind := range []string{"Ingress", "PodDisruptionBudget"} {
		object := foreign()[kind]
		object.SetNamespace(s.Namespace)
		object.SetName("web")
		object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "memcached-operator"})
		s.Create(object)
	}
	s.create(web())
	s.awaitReady("web", 1)
	testenv.MustGet[networkingv1.Ingress](s.Env, "web")
	testenv.MustGet[policyv1.PodDisruptionBudget](s.Env, "web")
}

// An Application and a cache of one name want the same Deployment: the second says so, the first is not disturbed.
func TestACacheOfTheSameNameIsNotDisturbed(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	s.createCache("web")
	s.AwaitEvent("NameConflict", "Deployment web already exists and does not belong to this Memcached")
	if image := testenv.MustGet[appsv1.Deployment](s.Env, "web").Spec.Template.Spec.Containers[0].Image; image != web().Obj().Spec.Image {
		t.Errorf("the Deployment runs %s", image)
	}
	s.awaitReady("web", 1)
}

// The Deployment that an Application left behind runs a web application, not memcached.
func TestWhatAnApplicationLeftIsNotGivenToACache(t *testing.T) {
	s := newSuite(t)
	object := s.create(web())
	s.awaitReady("web", 1)
	before := testenv.MustGet[appsv1.Deployment](s.Env, "web").Spec
	s.Delete(object, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	s.Await("the Application is gone", func(ctx context.Context) error {
		if err := s.Read(ctx, s.application("web")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	s.createCache("web")
	s.AwaitEvent("NameConflict", "Deployment web already exists and does not belong to this Memcached")
	after := testenv.MustGet[appsv1.Deployment](s.Env, "web")
	if difference := cmp.Diff(before, after.Spec); difference != "" || len(after.OwnerReferences) > 0 {
		t.Errorf("the Deployment has the owners %v, and has changed:\n%s", after.OwnerReferences, difference)
	}
}

// specOf returns the spec of an object.
func specOf(t *testing.T, object client.Object) any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return content["spec"]
}
