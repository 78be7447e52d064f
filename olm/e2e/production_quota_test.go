//go:build e2e

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// A cache is scaled up in a namespace whose quota has no room for the new pod. A condition says so until the quota is raised,
// and the existing pods keep serving.
func refusedByQuota(t *testing.T) {
	const cramped = "cramped"
	namespace(t, cramped)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: cramped, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	must(t, suite.cluster.Client.Create(t.Context(), quota))

	p := produceAs(t, types.NamespacedName{Namespace: cramped, Name: "cramped"}, 1, "workload: StatefulSet")
	before := p.pods()
	p.size = 2
	p.patch(`{"size":2}`)
	message := p.says(time.Minute, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNodesRefused, p.podName(1), "exceeded quota: few")
	t.Logf("an exhausted quota: %s", message)

	quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("2")
	quota.ResourceVersion = "" // Its status has changed since.
	must(t, suite.cluster.Client.Update(t.Context(), quota))
	p.ready(2 * time.Minute)
	p.same(before)
}
