package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

// goldPriority is a policy that gives all templates a priority class, as platform teams do.
func goldPriority(template *corev1.PodTemplateSpec) { template.Spec.PriorityClassName = "gold" }

// mirrorImages is a policy that moves the images of all templates to a mirror.
func mirrorImages(template *corev1.PodTemplateSpec) {
	for i := range template.Spec.Containers {
		template.Spec.Containers[i].Image = mirror + template.Spec.Containers[i].Image
	}
}

// What an admission policy puts into the template of a StatefulSet is no reason to replace a pod or to restart memcached.
func TestAPolicyForTemplatesReplacesNoPod(t *testing.T) {
	toleration := func(template *corev1.PodTemplateSpec) {
		template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: "gold", Operator: corev1.TolerationOpExists})
		template.Spec.Containers[0].Env = append(template.Spec.Containers[0].Env, corev1.EnvVar{Name: "TEAM", Value: "gold"})
		template.Spec.Containers[0].Resources.Limits = nil
	}
	for name, policy := range map[string]func(*corev1.PodTemplateSpec){"a priority": goldPriority, "tolerations, variables and limits": toleration} {
		for when, before := range map[string]bool{"from the beginning": true, "before the change": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				c := newCluster(t, 2, withWarmRestart())
				if before {
					c.policy = policy
					c.want(withWarmRestart().with(func(s *templateOptions) { s.labels = map[string]string{"a": "b"} }))
					c.run(20)
				}
				c.policy = policy
				uids, process := c.uids(), c.simulatedPod(1).process
				c.want(withWarmRestart().with(newAgent))
				expectText := "cache-1 is changed in place: agentImage (Live)"
				if before {
					expectText += ", labels (Live)"
				}
				expect(t, c.next(), rollout.Patch, 1, expectText)
				c.run(60)
				expect(t, c.next(), rollout.None, -1, "")
				if c.uids() != uids || c.simulatedPod(1).process != process {
					t.Error("memcached was restarted")
				}
			})
		}
	}
}

// A running pod gets the image that the policy has left in the template: new pods get the same one.
func TestAPolicyThatMovesImagesIsFollowed(t *testing.T) {
	c := newCluster(t, 2, versioned(withWarmRestart()))
	uids := c.uids()
	c.policy = mirrorImages
	c.want(versioned(upgraded))
	expect(t, c.next(), rollout.Patch, 1, "image 1.6.18 -> 1.6.45 (Warm)")
	c.run(60)
	expect(t, c.next(), rollout.None, -1, "")
	for ordinal := range 2 {
		if got := c.pod(ordinal).Spec.Containers[0].Image; got != mirror+image+"1.6.45" {
			t.Errorf("cache-%d has the image %s", ordinal, got)
		}
	}
	if c.uids() != uids {
		t.Error("a pod was replaced")
	}
}

// A pod of a revision without a record, for example one that somebody else wrote, is compared only in what the operator wants.
func TestAPodOfARevisionWithoutARecord(t *testing.T) {
	for name, test := range map[string]struct {
		policy   func(*corev1.PodTemplateSpec)
		change   func(*templateOptions)
		approved bool
		kind     rollout.Kind
		message  string
	}{
		"what others added is no difference": {goldPriority, newAgent, false, rollout.Patch, "cache-1 is changed in place: agentImage (Live)"},
		"a cold change waits":                {goldPriority, moreConnections, false, rollout.Wait, "kubectl delete pod cache-1"},
		"an approved cold change":            {goldPriority, moreConnections, true, rollout.Replace, "arguments.maxConnections (Cold)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withWarmRestart())
			template := withWarmRestart().template()
			test.policy(&template)
			c.set.Spec.Template = template
			c.seeTemplate()
			for ordinal := range 2 {
				c.pod(ordinal).Labels["controller-revision-hash"] = c.set.Status.UpdateRevision
			}
			c.want(withWarmRestart().with(test.change))
			input := c.input()
			input.Approved = test.approved
			step, err := rollout.Next(input)
			if err != nil {
				t.Fatal(err)
			}
			if step.Kind != test.kind || !strings.Contains(step.Message, test.message) {
				t.Errorf("the step is %s: %s", step.Kind, step.Message)
			}
			if step.Kind == rollout.Wait && !step.Stuck {
				t.Error("nobody is told that a person has to act")
			}
		})
	}
}

// The revision of an earlier release does not name its record: the record names the revision.
func TestARevisionOfAnEarlierReleaseHasItsRecord(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	template := withWarmRestart().template()
	goldPriority(&template)
	c.set.Spec.Template = template
	c.seeTemplate()
	for ordinal := range 2 {
		c.pod(ordinal).Labels["controller-revision-hash"] = c.set.Status.UpdateRevision
	}
	c.records[0].TakenOver, c.records[0].Revision = true, c.set.Status.UpdateRevision
	c.want(withWarmRestart().with(moreConnections))
	expect(t, c.next(), rollout.Replace, 1, "cache-1 is replaced and starts empty: arguments.maxConnections (Cold)")
}

// A template of an earlier release that somebody brings back has its record too, and the newest record is that of another one.
func TestATemplateOfAnEarlierReleaseComesBack(t *testing.T) {
	c := newCluster(t, 1, withWarmRestart())
	c.set.Spec.Template = withWarmRestart().template()
	c.seeTemplate()
	c.pod(0).Labels["controller-revision-hash"] = c.set.Status.UpdateRevision
	c.records[0].TakenOver, c.records[0].Revision = true, c.set.Status.UpdateRevision
	c.want(withWarmRestart().with(newAgent))
	c.run(20)
	c.set.Spec.Template = withWarmRestart().template()
	c.seeTemplate()
	expect(t, c.next(), rollout.Patch, 0, "agentImage (Live)")
}

func TestATemplateWithoutAnyRecord(t *testing.T) {
	c := newCluster(t, 1, withWarmRestart())
	c.records = nil
	c.set.Spec.Template = upgraded.template()
	c.seeTemplate()
	expect(t, c.next(), rollout.Patch, 0, "image 1.6.18 -> 1.6.45 (Warm)")
}

// Somebody may write a template that names no record, and a policy adds to it along with that. The newest record says what is wanted.
func TestATemplateThatNamesNoRecordReplacesNoPod(t *testing.T) {
	for name, takenOver := range map[string]bool{"of an earlier release": true, "whose annotation was removed": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, withWarmRestart())
			uids := c.uids()
			if takenOver {
				c.set.Spec.Template = withWarmRestart().template()
				c.seeTemplate()
				for ordinal := range 2 {
					c.pod(ordinal).Labels["controller-revision-hash"] = c.set.Status.UpdateRevision
				}
				c.records[0].TakenOver, c.records[0].Revision = true, c.set.Status.UpdateRevision
			}
			template := withWarmRestart().template()
			goldPriority(&template)
			c.set.Spec.Template = template
			c.seeTemplate()
			c.run(20)
			expect(t, c.next(), rollout.None, -1, "")
			if c.uids() != uids {
				t.Error("a pod was replaced")
			}
		})
	}
}

// A pod that was created from an edited template, and cannot start, is created again from the repaired one.
func TestAnEmptyPodWithAForeignImageIsReplaced(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	repaired := c.set.Spec.Template.DeepCopy()
	c.set.Spec.Template.Spec.Containers[0].Image = image + "bad"
	c.set.Generation++
	c.seeTemplate()
	delete(c.pods, "cache-1")
	c.settle(3)
	c.set.Spec.Template = *repaired
	c.set.Generation++
	c.seeTemplate()
	expect(t, c.next(), rollout.Replace, 1, "cache-1 serves no clients and is replaced")
	c.run(20)
	if got := c.pod(1).Spec.Containers[0].Image; got != image+"1.6.18" {
		t.Errorf("cache-1 has the image %s", got)
	}
}

// After an update in place, a pod names the record of its template.
func TestAPodNamesItsRecord(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	c.want(upgraded)
	c.run(60)
	if got := inputs.RecordNamed(c.records, c.pod(1).Annotations[owned.RecordAnnotation]); got != &c.records[0] {
		t.Errorf("cache-1 names the record %q", c.pod(1).Annotations[owned.RecordAnnotation])
	}
}

// Probes, variables and the start script of running pods stay. Nothing waits for them, and nothing restarts.
func TestWhatPodsGetWhenTheyAreReplaced(t *testing.T) {
	c := newCluster(t, 2, withWarmRestart())
	uids, process := c.uids(), c.simulatedPod(1).process
	template := withWarmRestart().template()
	template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "new"}}
	c.wantTemplate(template)
	expect(t, c.next(), rollout.Patch, 1, "cache-1 is up to date. When it is replaced for another reason, it gets: template.spec.containers[memcached].env[A].name")
	if got := summarise(c.run(20)); got != "Patch 1, Patch 0" || c.uids() != uids || c.simulatedPod(1).process != process {
		t.Errorf("made the steps %s", got)
	}
	expect(t, c.next(), rollout.None, -1, "")
}

// An image that a pod has pulled on the node is used as it was pulled there, and no other one.
func TestTheImageThatWasPulledOnTheNode(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"on the node":       {func(*corev1.Pod) {}, "mirror/agent:2"},
		"on another node":   {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, "agent:2"},
		"not yet":           {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, "agent:2"},
		"of another change": {func(p *corev1.Pod) { p.Annotations[inputs.PullAnnotation] = `{"container":"agent","image":"agent:3"}` }, "agent:2"},
		"of another container": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Name, p.Status.ContainerStatuses[0].Name = "memcached", "memcached"
			p.Annotations[inputs.PullAnnotation] = `{"container":"memcached","image":"agent:2"}`
		}, "agent:2"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1, withWarmRestart())
			c.pod(0).Spec.NodeName = "node"
			c.want(withWarmRestart().with(newAgent))
			pull := corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{inputs.PullAnnotation: `{"container":"agent","image":"agent:2"}`}},
				Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "agent", Image: "mirror/agent:2"}}},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
					Name: "agent", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
				}}},
			}
			test.change(&pull)
			input := c.input()
			input.PullPods = []corev1.Pod{pull}
			step, err := rollout.Next(input)
			if err != nil {
				t.Fatal(err)
			}
			if want := `"image":"` + test.want + `"`; !strings.Contains(string(step.Patch), want) {
				t.Errorf("the patch is %s, want %s", step.Patch, want)
			}
		})
	}
}

// While images are missing on nodes, no pod that serves clients gets another one: the template may have one that nobody wants any more.
func TestNoPodGetsAnotherImageWhileImagesAreMissing(t *testing.T) {
	cold, warm := withoutWarmRestart(), withWarmRestart()
	for name, test := range map[string]struct {
		begin  templateOptions
		change func(*templateOptions)
		kind   rollout.Kind
	}{
		"a cold image":        {cold, newVersion, rollout.Wait},
		"a warm image":        {warm, newVersion, rollout.Wait},
		"the agent's image":   {cold, newAgent, rollout.Wait},
		"a cold change":       {cold, moreConnections, rollout.Replace},
		"a live change":       {warm, func(s *templateOptions) { s.labels = map[string]string{"a": "b"} }, rollout.Patch},
		"an image and memory": {cold, moreMemoryAndNewAgent, rollout.Wait},
	} {
		for _, failed := range []bool{true, false} {
			c := newCluster(t, 2, test.begin)
			c.want(test.begin.with(test.change))
			input := c.input()
			input.Pulling, input.PullFailed = "images are being pulled", failed
			step, err := rollout.Next(input)
			if err != nil {
				t.Fatal(err)
			}
			if waits := test.kind == rollout.Wait; step.Kind != test.kind || waits && (step.Message != "images are being pulled" || step.Stuck != failed) {
				t.Errorf("%s: the step is %s: %s, stuck: %t", name, step.Kind, step.Message, step.Stuck)
			}
		}
	}
	c := newCluster(t, 2, cold)
	c.want(cold.with(newVersion))
	c.unready(1, 2*time.Minute)
	input := c.input()
	input.Pulling = "images are being pulled"
	if step, err := rollout.Next(input); err != nil || step.Kind != rollout.Replace {
		t.Errorf("a broken pod is not repaired: %s: %s, %v", step.Kind, step.Message, err)
	}
}
