package pending_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// What the pods are not made from does not make it the user who wants the change that a new version of the operator brings.
func TestWhoWantsAChange(t *testing.T) {
	monitored := func(label string) func(*v1alpha1.MemcachedSpec) {
		return func(s *v1alpha1.MemcachedSpec) {
			s.Monitoring = &v1alpha1.MemcachedMonitoring{Labels: map[string]string{"release": label}}
		}
	}
	before := with(statefulSet(), monitored("a"))
	for name, test := range map[string]struct {
		spec v1alpha1.MemcachedSpec
		want inputs.Cause
	}{
		"nothing":                    {before, inputs.ByOperator},
		"the size":                   {with(before, size), inputs.ByOperator},
		"a label of the monitoring":  {with(before, monitored("b")), inputs.ByOperator},
		"no monitoring any more":     {statefulSet(), inputs.ByUser},
		"the policy for updates":     {with(before, automatic), inputs.ByOperator},
		"a label of the pods":        {with(before, labelled), inputs.ByUser},
		"the number of threads":      {with(before, threads), inputs.ByUser},
		"the version that pods have": {with(before, pinned("1.6.18")), inputs.ByUser},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decide(t, first, before, second, test.spec).Cause; got != test.want {
				t.Errorf("the change is wanted by %s, want %s", got, test.want)
			}
		})
	}
}

func TestTemplatesThatDifferInTheImageOnly(t *testing.T) {
	plain := givenBy(t, second, deployment()).Template
	for name, test := range map[string]struct {
		other *pending.Template
		want  bool
	}{
		"equal":         {plain, true},
		"another image": {givenBy(t, first, deployment()).Template, true},
		"a label too":   {givenBy(t, first, with(deployment(), labelled)).Template, false},
	} {
		if got := pending.SameButImage(test.other, plain); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
