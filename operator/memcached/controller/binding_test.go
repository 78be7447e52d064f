package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// entries returns what clients find in the Secret of a cache.
func entries(secret *corev1.Secret) map[string]string {
	found := map[string]string{}
	for key, value := range secret.Data {
		found[key] = string(value)
	}
	return found
}

// awaitBinding waits until Service and Secret of the cache of the name "cache" are what clients rely on.
func (s *suite) awaitBinding() (*corev1.Service, *corev1.Secret) {
	s.Helper()
	var service *corev1.Service
	var secret *corev1.Secret
	s.Await("the binding of the cache", func(ctx context.Context) error {
		service, secret = s.service(), s.secret()
		if err := errors.Join(s.Read(ctx, service), s.Read(ctx, secret)); err != nil {
			return err
		}
		host := "cache-nodes." + s.Namespace + ".svc"
		want := map[string]string{
			"type": "memcached", "provider": "memcached-operator", "host": host, "port": "11211", "uri": "memcached://" + host + ":11211",
		}
		if difference := cmp.Diff(want, entries(secret)); difference != "" {
			return fmt.Errorf("the entries of the Secret differ (-want +got):\n%s", difference)
		}
		spec := service.Spec
		if len(spec.Ports) != 1 || spec.Ports[0].Port != 11211 || !spec.PublishNotReadyAddresses || spec.ClusterIP != "None" ||
			len(spec.Selector) != 3 || spec.Selector["app.kubernetes.io/instance"] != "cache" {
			return fmt.Errorf("the Service is %+v", spec)
		}
		return nil
	})
	return service, secret
}

func TestACacheTellsHowToReachIt(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2)
	ready := s.awaitReady("cache", 2)
	service, secret := s.awaitBinding()
	if ready.Status.Binding == nil || ready.Status.Binding.Name != secret.Name {
		t.Errorf("status.binding is %+v, want the name %s", ready.Status.Binding, secret.Name)
	}
	if secret.Type != "servicebinding.io/memcached" {
		t.Errorf("the Secret is of type %s", secret.Type)
	}
	for _, object := range []client.Object{service, secret} {
		if !metav1.IsControlledBy(object, ready) {
			t.Errorf("%s is not the cache's: %v", object.GetName(), object.GetOwnerReferences())
		}
	}
}

func TestABindingThatIsChangedIsPutBackAndAnnounced(t *testing.T) {
	for name, test := range map[string]struct {
		object   func(*suite) client.Object
		edit     string
		mentions []string
	}{
		"an entry of the Secret": {
			object: secretOf, edit: `{"stringData":{"host":"elsewhere.example.com"}}`,
			mentions: []string{"Secret cache-binding", "data.host"},
		},
		"a missing entry of the Secret": {
			object: secretOf, edit: `{"data":{"uri":null}}`, mentions: []string{"Secret cache-binding", "data.uri"},
		},
		"our label on the Secret": {
			object: secretOf, edit: `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
			mentions: []string{"Secret cache-binding", "managed-by"},
		},
		"the selector of the Service": {
			object: serviceOf, edit: `{"spec":{"selector":{"app":"other"}}}`, mentions: []string{"Service cache-nodes", "spec.selector"},
		},
		"the port of the Service": {
			object: serviceOf, edit: `{"spec":{"ports":[{"name":"memcached","port":11212,"protocol":"TCP","targetPort":11212}]}}`,
			mentions: []string{"Service cache-nodes", "spec.ports"},
		},
		"a switch of the Service": {
			object: serviceOf, edit: `{"spec":{"publishNotReadyAddresses":false}}`,
			mentions: []string{"Service cache-nodes", "spec.publishNotReadyAddresses"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, readingSecretsOften)
			s.create("cache", 1)
			s.awaitReady("cache", 1)
			service, secret := s.awaitBinding()
			s.Edit(test.object(s), test.edit)
			var newService *corev1.Service
			var newSecret *corev1.Secret
			s.Urgently(func() { newService, newSecret = s.awaitBinding() })
			if service.UID != newService.UID || secret.UID != newSecret.UID {
				t.Error("Service or Secret were created anew")
			}
			s.AwaitEvent(v1alpha1.EventDriftRepaired, test.mentions...)
			s.assertNoEventMentions("elsewhere", secret)
			s.awaitReady("cache", 1)
		})
	}
}

func secretOf(s *suite) client.Object  { return s.secret() }
func serviceOf(s *suite) client.Object { return s.service() }

// assertNoEventMentions fails if an event tells what is or was in the Secret.
func (s *suite) assertNoEventMentions(old string, secret *corev1.Secret) {
	s.Helper()
	events := &corev1.EventList{}
	if err := cluster.Client.List(s.Context(), events, client.InNamespace(s.Namespace)); err != nil {
		s.Fatal(err)
	}
	for _, event := range events.Items {
		for _, value := range []string{old, string(secret.Data["host"]), string(secret.Data["uri"])} {
			if strings.Contains(event.Message, value) {
				s.Errorf("an event tells what is in the Secret: %s", event.Message)
			}
		}
	}
}

func TestADeletedBindingIsMadeAgain(t *testing.T) {
	for name, object := range map[string]func(*suite) client.Object{"Service": serviceOf, "Secret": secretOf} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, readingSecretsOften)
			s.create("cache", 1)
			s.awaitReady("cache", 1)
			s.awaitBinding()
			s.Delete(object(s))
			s.Urgently(func() { s.awaitBinding() })
			if ready := s.awaitReady("cache", 1); ready.Status.Binding == nil {
				t.Error("status.binding is gone")
			}
		})
	}
}

// Somebody else's Service or Secret costs the cache its binding, but no node.
func TestAForeignBindingIsLeftAloneAndTheNodesRun(t *testing.T) {
	for name, test := range map[string]struct {
		foreign func(*suite) client.Object
		says    string
	}{
		"Service": {says: "Service cache-nodes already exists", foreign: func(s *suite) client.Object {
			service := s.service()
			service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
			return service
		}},
		"Secret": {says: "Secret cache-binding already exists", foreign: func(s *suite) client.Object {
			secret := s.secret()
			secret.StringData = map[string]string{"password": "secret"}
			return secret
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			foreign := test.foreign(s)
			s.Create(foreign)
			s.create("cache", 2)
			if message := s.awaitReason(v1alpha1.ReasonNameConflict); !strings.Contains(message, test.says) {
				t.Errorf("the message is %q", message)
			}
			s.Await("both nodes are there all the same", func(ctx context.Context) error {
				found, err := testenv.Get[v1alpha1.Memcached](ctx, s.Env, "cache")
				if err == nil && (found.Status.ReadyReplicas != 2 || found.Status.Binding != nil ||
					!meta.IsStatusConditionTrue(found.Status.Conditions, v1alpha1.ConditionAvailable)) {
					err = fmt.Errorf("status is %+v", found.Status)
				}
				return err
			})
			now := test.foreign(s)
			if err := s.Read(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			if now.GetResourceVersion() != foreign.GetResourceVersion() {
				t.Errorf("the foreign object was changed: %+v", now)
			}
			s.Delete(now)
			s.Edit(s.memcached("cache"), `{"spec":{"size":1}}`) // Otherwise it is looked at within a minute.
			if ready := s.awaitReady("cache", 1); ready.Status.Binding == nil {
				t.Error("the cache is Ready without a binding")
			}
			s.awaitBinding()
		})
	}
}
