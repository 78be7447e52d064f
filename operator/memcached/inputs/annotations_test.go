package inputs_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

func TestAllowedAnnotations(t *testing.T) {
	list := inputs.AllowedAnnotations{"example.com/pool", "lb.example.com/", "aws.example.com/load-*"}
	for _, test := range []struct {
		allowed inputs.AllowedAnnotations
		key     string
		want    bool
	}{
		{nil, "anything", true},
		{inputs.AllowedAnnotations{}, "anything", false},
		{inputs.AllowedAnnotations{"*"}, "external-dns.alpha.kubernetes.io/hostname", true},
		{list, "example.com/pool", true},
		{list, "example.com/pools", false},
		{list, "example.com/", false},
		{list, "lb.example.com/type", true},
		{list, "evil.lb.example.com/type", false},
		{list, "aws.example.com/load-balancer", true},
		{list, "aws.example.com/other", false},
		{list, "external-dns.alpha.kubernetes.io/hostname", false},
	} {
		if got := test.allowed.Allow(test.key); got != test.want {
			t.Errorf("%q allows %s: %t", test.allowed, test.key, got)
		}
	}
}
