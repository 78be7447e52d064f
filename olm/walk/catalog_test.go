package walk

import (
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestACatalogIsServedWhenOLMHasConnectedToItsPod(t *testing.T) {
	start := time.Date(2026, time.November, 28, 1, 18, 0, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second)) }
	pod := func(image string, initialized, ready int) corev1.Pod {
		var pod corev1.Pod
		pod.Name = "catalog"
		pod.Spec.InitContainers = []corev1.Container{{Image: "opm"}, {Image: image}}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: at(initialized)},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(ready)},
		}
		return pod
	}
	starting := pod("new", 10, 10)
	starting.Status.Conditions = starting.Status.Conditions[:1]
	for name, c := range map[string]struct {
		pods  []corev1.Pod
		state string
		since int
		want  string
	}{
		"no pod":                               {nil, "READY", 15, "there are 0 pods"},
		"two pods":                             {[]corev1.Pod{pod("old", 0, 1), pod("new", 10, 12)}, "READY", 15, "there are 2 pods"},
		"the pod of another image":             {[]corev1.Pod{pod("old", 0, 1)}, "READY", 15, "pod catalog does not serve new"},
		"the pod starts":                       {[]corev1.Pod{starting}, "READY", 15, "pod catalog is not ready"},
		"OLM connects":                         {[]corev1.Pod{pod("new", 10, 12)}, "CONNECTING", 11, "not connected to it"},
		"OLM has not noticed":                  {[]corev1.Pod{pod("new", 10, 12)}, "READY", 1, "connected to the one before"},
		"OLM has connected":                    {[]corev1.Pod{pod("new", 10, 12)}, "READY", 12, ""},
		"OLM connected before the first probe": {[]corev1.Pod{pod("new", 10, 12)}, "READY", 11, ""},
		"the server was restarted, and OLM connected before the next probe": {[]corev1.Pod{pod("new", 10, 1808)}, "READY", 1805, ""},
	} {
		source := &operatorsv1alpha1.CatalogSource{}
		source.Spec.Image = "new"
		source.Status.GRPCConnectionState = &operatorsv1alpha1.GRPCConnectionState{LastObservedState: c.state, LastConnectTime: at(c.since)}
		err := connected(source, c.pods)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	source := &operatorsv1alpha1.CatalogSource{}
	source.Spec.Image = "new"
	if err := connected(source, []corev1.Pod{pod("new", 10, 12)}); err == nil || !strings.Contains(err.Error(), "not connected to it") {
		t.Errorf("without a state of the connection: got %v", err)
	}
}
