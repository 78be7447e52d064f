package csv_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// On a node of another architecture, the operator would crash.
func TestPodsRunOnlyOnSupportedNodes(t *testing.T) {
	v, _ := composed(t)
	want := map[string][]string{corev1.LabelArchStable: {"amd64"}, corev1.LabelOSStable: {"linux"}}
	for _, d := range v.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		affinity := d.Spec.Template.Spec.Affinity
		if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			t.Fatalf("%s requires nothing of nodes", d.Name)
		}
		terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if len(terms) != 1 {
			t.Fatalf("%s has %d alternatives, want one", d.Name, len(terms))
		}
		got := map[string][]string{}
		for _, label := range terms[0].MatchExpressions {
			if label.Operator == corev1.NodeSelectorOpIn {
				got[label.Key] = label.Values
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", d.Name, diff)
		}
	}
}
