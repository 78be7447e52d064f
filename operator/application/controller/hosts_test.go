package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// claim returns an Application that wants a host. Those that are created in the same second are ordered by name.
func claim(name, host, path string) *testkit.Application {
	return testkit.MakeApplication(name).Ingress(host, path, "nginx")
}

func (s *suite) assertNoIngress(name string) {
	s.Helper()
	if _, err := testenv.Get[networkingv1.Ingress](s.Context(), s.Env, name); !apierrors.IsNotFound(err) {
		s.Errorf("the Ingress of %s is there: %v", name, err)
	}
}

// awaitRunning waits until all of an Application of one replica runs but its Ingress, so that nothing that happens to it
// later is noticed only because its pods have changed.
func (s *suite) awaitRunning(name string) {
	s.Helper()
	s.Await("all of "+name+" runs but its Ingress", func(ctx context.Context) error {
		now, err := testenv.Get[v1alpha1.Application](ctx, s.Env, name)
		if err == nil && (now.Status.ReadyReplicas != 1 || now.Status.URL != "http://"+name+"."+s.Namespace+".svc:8080" ||
			!meta.IsStatusConditionFalse(now.Status.Conditions, v1alpha1.ConditionProgressing) ||
			!meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionDegraded)) {
			return fmt.Errorf("status is %+v", now.Status)
		}
		return err
	})
}

func TestTheOlderApplicationKeepsItsAddress(t *testing.T) {
	s := newSuite(t)
	host := s.Namespace + ".example.com" // Addresses are the whole cluster's, and tests run side by side.
	s.create(claim("a-first", host, "/"))
	before := s.awaitReady("a-first", 1)
	second := s.create(claim("b-second", host, ""))
	found, message := s.awaitReason(second, v1alpha1.ReasonHostConflict)
	if want := "Host " + host + " with path / belongs to Application a-first, which had it first, so no Ingress is created: " +
		"choose another host or path, or change the other Application"; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	s.AwaitEvent(v1alpha1.ReasonHostConflict, "belongs to Application a-first")
	s.awaitRunning("b-second")
	if found.Status.ObservedGeneration != found.Generation {
		t.Errorf("observedGeneration is %d", found.Status.ObservedGeneration)
	}
	s.assertNoIngress("b-second")
	if after := s.awaitReady("a-first", 1); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the older one was disturbed: %+v", after.Status)
	}
}

func TestAHostConflictHeals(t *testing.T) {
	for name, mend := range map[string]func(*suite, *v1alpha1.Application){
		"when the older one is deleted": func(s *suite, first *v1alpha1.Application) {
			s.Delete(first)
		},
		"when the older one takes another host": func(s *suite, first *v1alpha1.Application) {
			s.Edit(first, `{"spec":{"ingress":{"host":"elsewhere.`+first.Spec.Ingress.Host+`"}}}`)
		},
		"when the older one gives up its ingress": func(s *suite, first *v1alpha1.Application) {
			s.Edit(first, `{"spec":{"ingress":null}}`)
		},
		"when the younger one takes another path": func(s *suite, _ *v1alpha1.Application) {
			s.Edit(s.application("b-second"), `{"spec":{"ingress":{"path":"/other"}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			host := s.Namespace + ".example.com"
			first := s.create(claim("a-first", host, "/"))
			s.awaitReady("a-first", 1)
			s.create(claim("b-second", host, "/"))
			s.awaitRunning("b-second")
			mend(s, first)
			var ready *v1alpha1.Application
			s.Urgently(func() { ready = s.awaitReady("b-second", 1) })
			if !strings.HasPrefix(ready.Status.URL, "http://"+host+"/") {
				t.Errorf("the URL is %q", ready.Status.URL)
			}
			testenv.MustGet[networkingv1.Ingress](s.Env, "b-second")
		})
	}
}

// An Application that moves to an address which another one holds loses its own Ingress, even if it is the older one.
func TestAnAddressStaysWithItsHolder(t *testing.T) {
	s := newSuite(t)
	host := s.Namespace + ".example.com"
	first := s.create(claim("a-first", "a."+host, "/"))
	second := s.create(claim("b-second", host, "/"))
	s.awaitReady("a-first", 1)
	s.awaitReady("b-second", 1)
	uid := s.awaitIngress(second)
	s.Edit(s.application("a-first"), `{"spec":{"ingress":{"host":"`+host+`"}}}`)
	s.Urgently(func() { s.awaitReason(first, v1alpha1.ReasonHostConflict) })
	s.assertNoIngress("a-first")
	s.awaitReady("b-second", 1)
	s.assertSameIngress(second, uid)
}

func TestOtherAddressesAreNoConflict(t *testing.T) {
	s := newSuite(t)
	host := s.Namespace + ".example.com"
	s.create(claim("a", host, "/"))
	s.create(claim("b", host, "/shop"))
	s.create(claim("c", "*."+host, "/"))
	for _, name := range []string{"a", "b", "c"} {
		s.awaitReady(name, 1)
	}
}

// Who holds an address in another namespace is not told.
func TestAConflictWithAnotherNamespaceNamesNobody(t *testing.T) {
	other := cluster.Namespace(t)
	s := newSuite(t, other)
	host := s.Namespace + ".example.com"
	first := s.create(claim("holder", host, "/").Namespace(other))
	s.Await("the first one has an Ingress", func(ctx context.Context) error {
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "holder"}}
		return s.Read(ctx, ingress)
	})
	awaitLaterSecond(t, first)
	second := s.create(claim("a", host, "/"))
	_, message := s.awaitReason(second, v1alpha1.ReasonHostConflict)
	if !strings.Contains(message, "an Application of another namespace") || strings.Contains(message, other) || strings.Contains(message, "holder") {
		t.Errorf("the message is %q", message)
	}
	s.Delete(first)
	s.awaitReady("a", 1)
}

// awaitLaterSecond waits until an object that is created now is younger than the given one: times of creation are whole
// seconds of the API server's clock.
func awaitLaterSecond(t *testing.T, object *v1alpha1.Application) {
	t.Helper()
	testkit.Await(t, "the next second", func(context.Context) error {
		if time.Since(object.CreationTimestamp.Time) <= time.Second {
			return fmt.Errorf("it is %s", time.Now())
		}
		return nil
	})
}
