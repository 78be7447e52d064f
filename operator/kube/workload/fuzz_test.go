package workload_test

import (
	"encoding/json"
	"testing"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// All who may edit Deployments can write the annotation. Whatever they write, a rollout of the operator ends when all pods have the
// template: while there is one, OLM does not upgrade the operator.
func FuzzRendering(f *testing.F) {
	for _, seed := range []string{
		`{"spec":"s","template":"t","replaces":{"revision":3,"generation":1}}`, `{"template":"t","replaces":{"generation":2}}`,
		`{"template":"t","replaces":{"revision":4,"generation":9223372036854775807}}`, `{"template":"t","replaces":{"revision":-9223372036854775808}}`, `{`, `null`, ``,
	} {
		f.Add(seed, "4", int32(1), false)
		f.Add(seed, "4", int32(2), false)
		f.Add(seed, "3", int32(2), true)
	}
	f.Fuzz(func(t *testing.T, annotation, revision string, updated int32, unseen bool) {
		deployment := testkit.Deployment(2, updated, 2)
		deployment.Annotations = map[string]string{workload.RenderingAnnotation: annotation, "deployment.kubernetes.io/revision": revision}
		if unseen {
			testkit.Unseen(deployment)
		}
		operators := workload.RolloutByOperator(deployment)
		if operators && !unseen && updated == 2 {
			t.Errorf("a rollout that has ended goes on after %s", annotation)
		}
		written := workload.Rendering{Spec: "s", Template: "t"}.Over(deployment, true, true)
		raw, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		deployment.Annotations[workload.RenderingAnnotation] = string(raw)
		if read := workload.RenderingOf(deployment); read.Spec != "s" || read.Template != "t" || (read.Replaces == nil) != (written.Replaces == nil) {
			t.Errorf("%s is read as %+v", raw, read)
		}
	})
}
