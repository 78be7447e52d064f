package diff_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// Whatever template somebody gives the workload of a cache, it is compared or refused in one line; read again, it is the same.
func FuzzReadTemplate(f *testing.F) {
	seed, err := json.Marshal(everything())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	for _, seed := range []string{
		`{}`, `{"spec":{"containers":[{"name":"memcached","args":["-m"]}]}}`, `{"spec":{"containers":[{"name":"memcached"},{"name":"memcached","args":["-m","1"]}]}}`,
		`{"spec":{"containers":[{"name":"memcached","args":["-m","999999999999999999999"]}]}}`,
		`{"spec":{"containers":[{"name":"memcached","resources":{"limits":{"memory":"1e99","cpu":"-1"}}}],"volumes":[{"name":"cache","emptyDir":{"sizeLimit":"-1E"}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var template corev1.PodTemplateSpec
		if json.Unmarshal(raw, &template) != nil {
			return
		}
		before, _ := json.Marshal(template)
		state, err := diff.Read(diff.StatefulSet, &template)
		testkit.OneLine(t, err)
		if after, _ := json.Marshal(template); string(after) != string(before) {
			t.Errorf("reading changes the template:\n%s\n%s", before, after)
		}
		if err != nil {
			return
		}
		again, err := diff.Read(diff.StatefulSet, &template)
		if changes, class := diff.Compare(state, again, inputs.Features{Resize: true}); err != nil || class != diff.None {
			t.Errorf("the same template differs: %+v, %v", changes, err)
		}
	})
}
