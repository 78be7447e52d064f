package controller_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

func TestDriftIsPutBackAndAnnounced(t *testing.T) {
	for name, test := range map[string]struct {
		kind, edit, mentions string
	}{
		"replicas":                    {"Deployment", `{"spec":{"replicas":7}}`, "spec.replicas"},
		"the image":                   {"Deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"application","image":"x:1"}]}}}}`, "image"},
		"the port of the Service":     {"Service", `{"spec":{"ports":[{"name":"http","port":9090,"targetPort":"http"}]}}`, "spec.ports"},
		"the type of the Service":     {"Service", `{"spec":{"type":"NodePort"}}`, "spec.type"},
		"the selector of the Service": {"Service", `{"spec":{"selector":{"app.kubernetes.io/name":"other"}}}`, "spec.selector"},
		"the host of the Ingress":     {"Ingress", `{"spec":{"rules":[{"host":"other.example.com"}]}}`, "spec.rules"},
		"the class of the Ingress":    {"Ingress", `{"spec":{"ingressClassName":"other"}}`, "spec.ingressClassName"},
		"the disruption budget":       {"PodDisruptionBudget", `{"spec":{"maxUnavailable":2}}`, "spec.maxUnavailable"},
		"another kind of budget":      {"PodDisruptionBudget", `{"spec":{"maxUnavailable":null,"minAvailable":2}}`, "spec.maxUnavailable"},
		"a label":                     {"Service", `{"metadata":{"labels":{"app.kubernetes.io/part-of":"other"}}}`, "part-of"},
		"our label":                   {"Ingress", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`, "managed-by"},
		"the owner reference":         {"Service", `{"metadata":{"ownerReferences":null}}`, "ownerReferences"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			s.create(sample())
			s.awaitReady("application-sample", 2)
			object := s.children("application-sample")[test.kind]
			want, err := opinion(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			uid := object.GetUID()
			s.Edit(object, test.edit)
			s.Urgently(func() {
				s.Await("the object is as before", func(ctx context.Context) error {
					got, err := opinion(ctx, object)
					if difference := cmp.Diff(want, got); err == nil && difference != "" {
						return fmt.Errorf("%s differs:\n%s", test.kind, difference)
					}
					return err
				})
			})
			if object.GetUID() != uid {
				t.Errorf("the %s was created anew", test.kind)
			}
			s.AwaitEvent(v1alpha1.EventDriftRepaired, test.kind+" application-sample", test.mentions)
			s.awaitReady("application-sample", 2)
		})
	}
}

// opinion reads an object and returns what of it is for users to see.
func opinion(ctx context.Context, object client.Object) (map[string]any, error) {
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"spec": content["spec"], "labels": object.GetLabels(), "annotations": hash(object), "owners": object.GetOwnerReferences(),
	}, nil
}

func hash(object client.Object) string {
	return object.GetAnnotations()["cache.example.com/applied-hash"]
}

func TestADeletedObjectIsMadeAgain(t *testing.T) {
	s := newSuite(t)
	s.create(sample())
	s.awaitReady("application-sample", 2)
	for kind, child := range s.children("application-sample") {
		if err := s.Read(t.Context(), child); err != nil {
			t.Fatal(err)
		}
		uid := child.GetUID()
		s.Delete(child)
		s.Await("a new "+kind, func(ctx context.Context) error {
			if err := s.Read(ctx, child); err != nil {
				return err
			}
			if child.GetUID() == uid {
				return fmt.Errorf("still the old one")
			}
			return nil
		})
	}
	s.awaitReady("application-sample", 2)
}

func TestAStatusEditedByHandIsCorrected(t *testing.T) {
	s := newSuite(t)
	s.create(web())
	s.awaitReady("web", 1)
	if err := cluster.Client.Status().Patch(t.Context(), s.application("web"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"status":{"readyReplicas":9,"url":"http://nonsense","conditions":[]}}`))); err != nil {
		t.Fatal(err)
	}
	ready := s.awaitReady("web", 1)
	if ready.Status.URL != "http://web."+s.Namespace+".svc:8080" ||
		!meta.IsStatusConditionPresentAndEqual(ready.Status.Conditions, v1alpha1.ConditionAvailable, metav1.ConditionTrue) {
		t.Errorf("status is %+v", ready.Status)
	}
}
