package executor_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

func (f *fixture) budget(name string, allowed int32) {
	f.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.set.Namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, MinAvailable: ptr.To(intstr.FromInt32(2))},
	}
	f.must(cluster.Client.Create(f.Context(), budget))
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 2, DesiredHealthy: 2, ExpectedPods: 2,
	}
	f.must(cluster.Client.Status().Update(f.Context(), budget))
}

func TestAPodThatIsReadyIsEvicted(t *testing.T) {
	f := newFixture(t)
	f.budget("own", 1)
	f.want(template("agent:1", 64, "2048"))
	f.expect(f.step(), rollout.Replace, "cache-1 is replaced")
	if !f.gone(1) || f.gone(0) {
		t.Error("the wrong pods are gone")
	}
	budget := &policyv1.PodDisruptionBudget{}
	f.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: "own"}, budget))
	if budget.Status.DisruptionsAllowed != 0 {
		t.Error("the PodDisruptionBudget was not respected")
	}
}

func TestAPodDisruptionBudgetIsRespected(t *testing.T) {
	f := newFixture(t)
	f.budget("strict", 0)
	f.want(template("agent:1", 64, "2048"))
	step := f.step()
	f.expect(step, rollout.Wait, "cache-1 is not replaced yet, because its PodDisruptionBudget does not allow it: "+
		"The disruption budget strict needs 2 healthy pods and has 2 currently")
	if step.Stuck || step.After <= 0 || f.gone(1) {
		t.Errorf("the step is %+v, and gone is %t", step, f.gone(1))
	}
	for _, ready := range []time.Duration{50 * time.Second, 70 * time.Second} {
		f.elapsed = time.Until(pods.ReadinessSince(f.pod(1)).Add(ready))
		if step := f.step(); step.Stuck != (ready > time.Minute) {
			t.Errorf("%s after the pod became ready, it is stuck: %t", ready, step.Stuck)
		}
	}
	// The PodDisruptionBudget does not apply to a pod that serves no clients.
	budget := &policyv1.PodDisruptionBudget{}
	f.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: "strict"}, budget))
	budget.Status.CurrentHealthy = 1
	f.must(cluster.Client.Status().Update(t.Context(), budget))
	pod := f.pod(1)
	pod.Status.Conditions[0].Status, pod.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, metav1.Now()
	pod.Status.ContainerStatuses[0].Ready = false
	f.must(cluster.Client.Status().Update(t.Context(), pod))
	f.expect(f.step(), rollout.Replace, "cache-1 serves no clients")
	if !f.gone(1) {
		t.Error("the pod is still there")
	}
}

// The API server asks to try again after ten seconds while it has not counted the pods of a budget. Nothing is wrong with it then.
func TestABudgetThatHasNotBeenCountedIsWaitedFor(t *testing.T) {
	f := newFixture(t)
	f.budget("new", 1)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: f.set.Namespace, Name: "new"}}
	f.must(cluster.Client.Patch(t.Context(), budget, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"minAvailable":1}}`))))
	f.want(template("agent:1", 64, "2048"))
	step := f.step()
	f.expect(step, rollout.Wait, "cache-1 is not replaced yet, because the API server has not allowed its eviction within 5s")
	if step.Stuck || step.After <= 0 || f.gone(1) {
		t.Errorf("the step is %+v, and gone is %t", step, f.gone(1))
	}
}

// If the operator ends while the API server evicts a pod, the budget counts the pod as evicted for two minutes.
func TestAnInterruptedEvictionIsNotStuck(t *testing.T) {
	f := newFixture(t)
	f.budget("own", 0)
	f.want(template("agent:1", 64, "2048"))
	f.elapsed = time.Hour
	budget := &policyv1.PodDisruptionBudget{}
	f.must(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: f.set.Namespace, Name: "own"}, budget))
	for _, test := range []struct {
		pod    string
		before time.Duration
		stuck  bool
	}{{"cache-1", time.Minute, false}, {"cache-0", time.Minute, false}, {"another", time.Minute, true}, {"cache-1", 3 * time.Minute, true}} {
		budget.Status.DisruptedPods = map[string]metav1.Time{test.pod: metav1.NewTime(time.Now().Add(f.elapsed - test.before))}
		f.must(cluster.Client.Status().Update(t.Context(), budget))
		if step := f.step(); step.Kind != rollout.Wait || step.Stuck != test.stuck {
			t.Errorf("%s after the eviction of %s, the step is %s, stuck %t: %s", test.before, test.pod, step.Kind, step.Stuck, step.Message)
		}
	}
}

func TestTwoPodDisruptionBudgetsAreReported(t *testing.T) {
	f := newFixture(t)
	f.budget("one", 1)
	f.budget("two", 1)
	f.want(template("agent:1", 64, "2048"))
	step := f.step()
	f.expect(step, rollout.Wait, "cache-1 cannot be replaced, because more than one PodDisruptionBudget selects it")
	if !step.Stuck || f.gone(1) {
		t.Errorf("the step is %+v, and gone is %t", step, f.gone(1))
	}
}
