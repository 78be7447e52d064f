package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Nobody tells the operator of a Secret that appears or is spoilt: it looks again by itself, and nothing is lost meanwhile.
func TestASecretIsLookedAtAgain(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 1)
	nodes := s.awaitReady("cache", 1).Status.Nodes
	s.Edit(s.memcached("cache"), `{"spec":{"auth":{"secretName":"users"}}}`)
	s.awaitReason(v1alpha1.ReasonSecretNotFound)
	if now := s.MustPods(); len(now) != 1 || now[nodes[0]] == "" {
		t.Errorf("without the Secret, node %s became %v", nodes[0], now)
	}
	users := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "users"}, StringData: map[string]string{"users": "shop:secret\n"},
	}
	s.Create(users)
	s.awaitReady("cache", 1)
	s.Edit(users, `{"stringData":{"users":"no colon\n"}}`)
	s.awaitReason(v1alpha1.ReasonInvalidUsers)
}
