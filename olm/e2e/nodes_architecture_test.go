//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// notSelected is what the scheduler says about a node that a pod does not select.
const notSelected = "didn't match Pod's node affinity/selector"

// otherArchitecture adds a node of arm64. While only that one takes pods, the operator waits, and so do caches that ask for amd64 as
// olm/production.md says.
func otherArchitecture(t *testing.T) {
	amd64 := nodeNames(t)
	arm64 := addARM64(t)
	cordoned(t, amd64...)
	runsOn(t, arm64)

	selector := one(t, section(t, "olm/production.md", "nodes-of-other-architectures"), "nodeSelector")
	deployment := request(t, inDefault("chosen-deployment"), 2, "monitoring: {}\n"+selector)
	set := request(t, inDefault("chosen-statefulset"), 2, fmt.Sprintf("workload: StatefulSet\nversion: %q\n%s", firstMemcached, selector))
	for _, p := range []*production{deployment, set} {
		p.says(time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNodesUnschedulable, notSelected)
	}
	before, err := onlyOperatorPod(t.Context())
	must(t, err)
	kubectl(t.Context(), t, "delete", "pod", before.Name, "-n", walk.Namespace, "--timeout=60s")
	waitOperator(t, "the operator to wait for a node", func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && strings.Contains(c.Message, notSelected)
		})
	})

	uncordon(t.Context(), t, amd64...)
	waitOperator(t, "the operator to run", pods.Ready)
	deployment.ready(2 * time.Minute)
	set.ready(2 * time.Minute)
	// For this the operator pulls an image first.
	set.patch(fmt.Sprintf(`{"version":%q}`, project.DefaultOperand))
	waitVersion(t.Context(), t, set.key, 2, project.DefaultOperand)
}

// addARM64 adds a node of arm64 until the test ends, and returns its name. It takes pods, and never runs them.
func addARM64(t *testing.T) string {
	t.Helper()
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "arm64", Labels: map[string]string{
		corev1.LabelArchStable: "arm64", corev1.LabelOSStable: "linux", corev1.LabelHostname: "arm64",
	}}}
	remove := func(ctx context.Context) { must(t, suite.cluster.Delete(ctx, "node", node.Name)) }
	remove(t.Context())
	t.Cleanup(func() { remove(context.Background()) })
	must(t, suite.cluster.Client.Create(t.Context(), &node))
	ctx, cancel := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	// The control plane takes a node that is silent for 50 seconds for lost.
	beating.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) { beat(ctx, t, node.Name) }, 10*time.Second)
	})
	t.Cleanup(func() { cancel(); beating.Wait() })
	return node.Name
}

// beat reports, as a kubelet does, that a node is ready and has room.
func beat(ctx context.Context, t *testing.T, name string) {
	now := metav1.Now()
	var node corev1.Node
	node.Name = name
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now}}
	patch, err := json.Marshal(map[string]any{"status": node.Status})
	if err == nil {
		err = suite.cluster.Client.Status().Patch(ctx, &node, client.RawPatch(types.StrategicMergePatchType, patch))
	}
	if err != nil && ctx.Err() == nil {
		t.Logf("%s did not report that it is ready: %v", name, err) // The next report may come in time.
	}
}

// runsOn waits until a pod that runs anywhere is given to a node, so that the scheduler uses it.
func runsOn(t *testing.T, node string) {
	t.Helper()
	const name = "anywhere"
	remove := func(ctx context.Context) {
		must(t, suite.cluster.Delete(ctx, "pod", name, "-n", "default", "--force", "--grace-period=0"))
	}
	remove(t.Context())
	t.Cleanup(func() { remove(context.Background()) })
	kubectl(t.Context(), t, "run", name, "-n", "default", "--image="+suite.registry+"/example/never-runs:1", "--restart=Never")
	kubectl(t.Context(), t, "wait", "pod/"+name, "-n", "default", "--for=jsonpath={.spec.nodeName}="+node, "--timeout=1m")
}

// waitOperator waits until the only pod of the operator is as expected.
func waitOperator(t *testing.T, what string, expected func(*corev1.Pod) bool) {
	t.Helper()
	must(t, walk.Within(t.Context(), 2*time.Minute, what, func(ctx context.Context) error {
		pod, err := onlyOperatorPod(ctx)
		if err == nil && !expected(pod) {
			err = fmt.Errorf("it is on %q: %+v", pod.Spec.NodeName, pod.Status.Conditions)
		}
		return err
	}))
}
