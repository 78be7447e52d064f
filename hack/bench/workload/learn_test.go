package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/bench/workload"
)

// Names are replaced in encoded objects, whose lengths must not change.
func TestNamesHaveTheSameLength(t *testing.T) {
	for _, number := range []int{0, 7, 4999, 999999} {
		if len(workload.Name(number)) != len(workload.Name(1)) {
			t.Errorf("%s is longer or shorter than %s", workload.Name(number), workload.Name(1))
		}
	}
	if len(workload.Namespace(0)) != len(workload.Namespace(9999)) {
		t.Errorf("%s is longer or shorter than %s", workload.Namespace(0), workload.Namespace(9999))
	}
}

func TestATemplateIsMadeForAnotherResource(t *testing.T) {
	templates := &workload.Templates{Namespace: "bench-9999", Name: "cache-999999", UID: "old-uid"}
	write := workload.Write{
		Method: "PUT", Path: "/namespaces/bench-9999/memcacheds/cache-999999/status", ContentType: "application/json",
		Body: []byte(`{"name":"cache-999999","owner":"old-uid","host":"cache-999999-nodes.bench-9999.svc","resourceVersion":"` + workload.ResourceVersion + `"}`),
	}
	got := write.For(templates, "bench-0001", "cache-000042", "new-uid", "77")
	want := workload.Write{
		Method: "PUT", Path: "/namespaces/bench-0001/memcacheds/cache-000042/status", ContentType: "application/json",
		Body: []byte(`{"name":"cache-000042","owner":"new-uid","host":"cache-000042-nodes.bench-0001.svc","resourceVersion":"77"}`),
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}
