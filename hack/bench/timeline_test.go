package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Otherwise the timeline of a new cache would not end.
func TestACustomResourceIsReadyWhenItsConditionSaysSo(t *testing.T) {
	for status, want := range map[string]bool{"True": true, "False": false, "Unknown": false} {
		condition := map[string]any{"type": "Ready", "status": status}
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{condition}}}}
		if got := isReady(object); got != want {
			t.Errorf("with the condition Ready %s, it is ready: %t", status, got)
		}
	}
	if isReady(&unstructured.Unstructured{Object: map[string]any{}}) {
		t.Error("without a status, it is ready")
	}
}
