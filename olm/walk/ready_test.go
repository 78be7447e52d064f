package walk

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestReadySaysWhatIsMissing(t *testing.T) {
	with := func(condition map[string]any) unstructured.Unstructured {
		resource := unstructured.Unstructured{Object: map[string]any{}}
		resource.SetGeneration(2)
		if condition != nil {
			resource.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}, condition}}
		}
		return resource
	}
	for want, condition := range map[string]map[string]any{
		"there is no condition Ready": nil,
		"for generation 1 of 2":       {"type": "Ready", "status": "True", "observedGeneration": int64(1)},
		"is False for generation 2 of 2: NodesStarting: one is missing": {
			"type": "Ready", "status": "False", "observedGeneration": int64(2), "reason": "NodesStarting", "message": "one is missing",
		},
		"read the conditions": {"type": 7},
	} {
		if err := Ready(with(condition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := Ready(with(map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)})); err != nil {
		t.Error(err)
	}
}
