package controller_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

func TestDriftIsPutBackAndAnnounced(t *testing.T) {
	for name, test := range map[string]struct {
		edit, mentions string
	}{
		"replicas":            {edit: `{"spec":{"replicas":7}}`, mentions: "spec.replicas"},
		"replicas set to 0":   {edit: `{"spec":{"replicas":0}}`, mentions: "spec.replicas"},
		"the image":           {edit: `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"x"}]}}}}`, mentions: "image"},
		"our label":           {edit: `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`, mentions: "managed-by"},
		"another label":       {edit: `{"metadata":{"labels":{"app.kubernetes.io/instance":"other"}}}`, mentions: "instance"},
		"the owner reference": {edit: `{"metadata":{"ownerReferences":null}}`, mentions: "ownerReferences"},
		"our annotation":      {edit: `{"metadata":{"annotations":null}}`, mentions: "cache.example.com/record"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			s.create("cache", 2)
			before := s.awaitReady("cache", 2)
			original := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
			s.Edit(s.deployment("cache"), test.edit)
			s.Urgently(func() {
				s.Await("the Deployment is as before", func(ctx context.Context) error {
					now, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
					if err != nil {
						return err
					}
					return sameOpinion(original, now)
				})
			})
			s.AwaitEvent(v1alpha1.EventDriftRepaired, "Deployment cache", test.mentions)
			s.awaitReady("cache", 2)
			if after, err := testenv.Get[appsv1.Deployment](t.Context(), s.Env, "cache"); err != nil || after.UID != original.UID {
				t.Errorf("the Deployment of %s was created anew: %v", before.Name, err)
			}
		})
	}
}

func sameOpinion(want, got *appsv1.Deployment) error {
	type opinion struct {
		replicas    int32
		image, hash string
		owned       bool
		labels      string
	}
	of := func(d *appsv1.Deployment) opinion {
		return opinion{
			*d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image, d.Annotations["cache.example.com/applied-hash"],
			metav1.GetControllerOf(d) != nil, fmt.Sprint(d.Labels),
		}
	}
	if of(want) != of(got) {
		return fmt.Errorf("want %+v, got %+v", of(want), of(got))
	}
	return nil
}

func TestADeletedDeploymentIsMadeAgain(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	old := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
	s.Delete(old)
	s.Await("a new Deployment", func(ctx context.Context) error {
		now, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
		if err == nil && now.UID == old.UID {
			return fmt.Errorf("still the old one")
		}
		return err
	})
	s.awaitReady("cache", 1)
}

// What others add to a Deployment, and we have no opinion on, stays.
func TestFieldsOfOthersAreKept(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	s.Edit(s.deployment("cache"), `{"metadata":{"annotations":{"example.com/team":"a"}},"spec":{"revisionHistoryLimit":3}}`)
	s.Edit(s.memcached("cache"), `{"spec":{"size":2}}`)
	s.awaitReady("cache", 2)
	now := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
	if now.Annotations["example.com/team"] != "a" || *now.Spec.RevisionHistoryLimit != 3 {
		t.Errorf("the fields of others were changed: %v, %d", now.Annotations, *now.Spec.RevisionHistoryLimit)
	}
}

func TestAStatusEditedByHandIsCorrected(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	s.awaitReady("cache", 1)
	object := s.memcached("cache")
	if err := cluster.Client.Status().Patch(t.Context(), object,
		client.RawPatch("application/merge-patch+json", []byte(`{"status":{"readyReplicas":9,"nodes":["nonsense"]}}`))); err != nil {
		t.Fatal(err)
	}
	s.awaitReady("cache", 1)
}
