package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// A Service may have a load balancer that clients use, so the administrator's list takes nothing away from it.
func TestTheListOfAnnotationsConcernsWhatIsNew(t *testing.T) {
	const host = "external-dns.alpha.kubernetes.io/hostname"
	s := newSuite(t)
	before := s.createReady(func(spec *v1alpha1.MemcachedSpec) {
		spec.Service = &v1alpha1.MemcachedService{Annotations: map[string]string{host: "shop.example.com", "example.com/pool": "a"}}
	})
	s.Operator.Stop()
	s.Options.ServiceAnnotations = inputs.AllowedAnnotations{"example.com/"}
	s.StartOperator()
	message := s.awaitReason(v1alpha1.ReasonAnnotationNotAllowed)
	if !strings.Contains(message, "does not allow "+host+": ") || !strings.Contains(message, "MEMCACHED_SERVICE_ANNOTATIONS") {
		t.Errorf("the message is %q", message)
	}
	s.Edit(s.memcached("cache"), `{"spec":{"size":3,"service":{"annotations":{"`+host+`":"bank.example.com"}}}}`)
	s.Await("a third pod", func(ctx context.Context) error {
		if pods, err := s.Pods(ctx, nil); err != nil || len(pods) != 3 {
			return fmt.Errorf("pods are %v: %w", pods, err)
		}
		return nil
	})
	if annotations := testenv.MustGet[corev1.Service](s.Env, "cache").Annotations; annotations[host] != "shop.example.com" || annotations["example.com/pool"] != "a" {
		t.Errorf("the annotations of the Service are %v", annotations)
	}
	s.Edit(s.memcached("cache"), `{"spec":{"service":{"annotations":{"`+host+`":null}}}}`)
	s.awaitReady("cache", 3)
	s.keeps(before)
	if annotations := testenv.MustGet[corev1.Service](s.Env, "cache").Annotations; annotations[host] != "" || annotations["example.com/pool"] != "a" {
		t.Errorf("the annotations of the Service are %v", annotations)
	}
}
