//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// archLabel is the label by which pods choose the architecture of their node.
const archLabel = "kubernetes.io/arch"

// otherArchitecture labels a node as kubelets of arm64 do. The scheduler then uses it for caches that run anywhere, and not for those that
// ask for amd64 as olm/production.md says, nor for what the operator runs beside them, nor for the operator.
func otherArchitecture(t *testing.T) {
	onArm64(t)
	request(t, inDefault("anywhere"), 4, "workload: StatefulSet").onEach(1)

	selector := one(t, section(t, "olm/production.md", "nodes-of-other-architectures"), "nodeSelector")
	request(t, inDefault("chosen-deployment"), 2, "monitoring: {}\n"+selector).onlyOnAMD64()
	chosen := request(t, inDefault("chosen-statefulset"), 2, fmt.Sprintf("workload: StatefulSet\nversion: %q\n%s", firstMemcached, selector))
	chosen.onlyOnAMD64()
	chosen.patch(fmt.Sprintf(`{"version":%q}`, project.DefaultOperand))
	waitVersion(t.Context(), t, chosen.key, 2, project.DefaultOperand)
	chosen.onlyOnAMD64()
	chosen.pulledOnAMD64()
	operatorOnAMD64(t)
}

// onArm64 lets otherNode be one of arm64 until the test ends. Its kubelet sets the label only when it starts.
func onArm64(t *testing.T) {
	t.Helper()
	label := func(ctx context.Context, arch string) {
		kubectl(ctx, t, "label", "node", otherNode, "--overwrite", archLabel+"="+arch)
	}
	t.Cleanup(func() { label(context.Background(), "amd64") })
	label(t.Context(), "arm64")
}

// onlyOnAMD64 waits until the cache is ready, and expects none of its pods on otherNode.
func (p *production) onlyOnAMD64() {
	p.t.Helper()
	p.ready(2 * time.Minute)
	for name, pod := range p.pods() {
		if pod.Spec.NodeName == otherNode {
			p.t.Errorf("%s is on the node of another architecture", name)
		}
	}
}

// pulledOnAMD64 expects that images were pulled for the cache, by pods that otherNode has not run.
func (p *production) pulledOnAMD64() {
	p.t.Helper()
	var events corev1.EventList
	must(p.t, json.Unmarshal([]byte(kubectl(p.t.Context(), p.t, "get", "events", "-n", p.key.Namespace, "-o", "json")), &events))
	events.Items = slices.DeleteFunc(events.Items, func(e corev1.Event) bool {
		return !strings.HasPrefix(e.InvolvedObject.Name, p.key.Name+"-pull-") || e.Source.Component != "kubelet"
	})
	if len(events.Items) == 0 {
		p.t.Errorf("no pod has pulled an image for %s", p.key.Name)
	}
	for _, event := range events.Items {
		if event.Source.Host == otherNode {
			p.t.Errorf("%s ran on the node of another architecture: %s", event.InvolvedObject.Name, event.Message)
		}
	}
}

// operatorOnAMD64 expects that the operator rather waits for a node of amd64 than runs on another one.
func operatorOnAMD64(t *testing.T) {
	t.Helper()
	amd64 := slices.DeleteFunc(nodeNames(t), func(node string) bool { return node == otherNode })
	cordoned(t, amd64...)
	before, err := onlyOperatorPod(t.Context())
	must(t, err)
	kubectl(t.Context(), t, "delete", "pod", before.Name, "-n", walk.Namespace, "--timeout=60s")
	waitOperator(t, "the operator to wait for a node", func(pod *corev1.Pod) bool {
		return pod.UID != before.UID && pod.Spec.NodeName == "" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && strings.Contains(c.Message, "didn't match Pod's node affinity/selector")
		})
	})
	uncordon(t.Context(), t, amd64...)
	waitOperator(t, "the operator to run on amd64", func(pod *corev1.Pod) bool {
		return pods.Ready(pod) && slices.Contains(amd64, pod.Spec.NodeName)
	})
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
