package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// silence makes steps for a minute in which the agent of the pod with ordinal 1 does not answer.
func silence(c *cluster) {
	c.t.Helper()
	const message = "cache-1 is not restarted, because its agent cannot be reached"
	expect(c.t, c.next(), rollout.Patch, 1, message)
	c.make(c.next())
	for range 60 {
		step := c.next()
		expect(c.t, step, rollout.Wait, 1, message)
		if step.Stuck {
			c.t.Fatalf("it is stuck after less than a minute: %+v", step)
		}
		c.now = c.now.Add(time.Second)
	}
}

// An agent that misses one answer is no problem that the user has to fix, and the update goes on when it answers.
func TestAnAgentThatMissesOneAnswer(t *testing.T) {
	for name, next := range map[string]templateOptions{
		"the same spec":        upgraded,
		"the spec is reverted": withWarmRestart(),
		"another version":      withWarmRestart().with(func(s *templateOptions) { s.version = "1.6.38" }),
		"a larger limit":       upgraded.with(func(s *templateOptions) { s.spare = 128 }),
		"a smaller limit":      upgraded.with(func(s *templateOptions) { s.spare = 32 }),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withWarmRestart())
			before, items := c.uids(), c.simulatedPod(1).items
			c.simulatedPod(1).agentUnreachable = true
			c.want(upgraded)
			silence(c)
			c.simulatedPod(1).agentUnreachable = false
			c.want(next)
			c.run(120)
			c.expectDone()
			if c.uids() != before || c.simulatedPod(1).items < items {
				t.Error("items were lost")
			}
		})
	}
}

// The scheduler finds no node for a moment, for example, while another pod is still ending.
func TestAPodThatIsBrieflyUnschedulableIsNotStuck(t *testing.T) {
	c := newCluster(t, 3, withoutWarmRestart())
	c.want(withoutWarmRestart().with(moreConnections))
	c.make(c.next())
	c.settle(3)
	c.simulatedPod(2).memcachedBroken = true
	c.settle(10)
	c.pod(2).Status.Conditions = append(c.pod(2).Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(c.now)})
	c.now = c.now.Add(59 * time.Second)
	if step := c.next(); step.Stuck {
		t.Errorf("it is stuck: %+v", step)
	}
	c.now = c.now.Add(time.Second)
	expectStuck(t, c.next())
}
