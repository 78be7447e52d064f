package desired_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// runningPod is a pod of the cache on a node.
func runningPod(ordinal int, node string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("cache-%d", ordinal), Labels: map[string]string{"app.kubernetes.io/instance": "cache", "controller-revision-hash": "cache-1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: node, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}, Tolerations: []corev1.Toleration{{Key: "gold"}},
			ServiceAccountName: "default", SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64)},
			Containers: []corev1.Container{{Name: "memcached", Image: "memcached:1"}, {Name: "agent", Image: "agent:1", ImagePullPolicy: corev1.PullAlways}},
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "memcached", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}},
	}
}

// beforeNewAgent is a cache of a StatefulSet whose agent is to have the image agent:2.
func beforeNewAgent(t *testing.T, pods ...corev1.Pod) inputs.Inputs {
	t.Helper()
	cache := testkit.MakeMemcached("cache").Size(int32(len(pods))).Obj()
	cache.UID, cache.Spec.Workload = types.UID("uid"), v1alpha1.WorkloadStatefulSet
	in := inputs.Inputs{
		Memcached: cache, Now: testkit.Now.Time,
		Images: inputs.Images{Memcached: map[string]string{"1": "memcached:1"}, Default: "1", Agent: "agent:1"},
	}
	plan, err := desired.MakePlan(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Records, in.Images.Agent, in.Pods = plan.Records, "agent:2", pods
	in.StatefulSet = &inputs.Workload{
		Template: plan.Records[0].Template, Spec: plan.Records[0].Spec, Record: &in.Records[0], Complete: true,
		Records: map[string]*inputs.Record{"cache-1": &in.Records[0]},
	}
	return in
}

func names(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

func TestAPullPodIsLikeThePodOfTheCache(t *testing.T) {
	pulls := desired.MakePulls(beforeNewAgent(t, runningPod(0, "a"), runningPod(1, "a")))
	if len(pulls.Create) != 1 || len(pulls.Delete) != 0 {
		t.Fatalf("%d pods are created and %d deleted, want one for the node", len(pulls.Create), len(pulls.Delete))
	}
	pull := pulls.Create[0]
	for key := range pull.Labels {
		if key == "app.kubernetes.io/instance" || key == "app.kubernetes.io/name" {
			t.Errorf("a selector of the cache may find it by the label %s", key)
		}
	}
	if pull.OwnerReferences[0].UID != "uid" || inputs.PulledBy(pull) != (inputs.Pulled{Container: "agent", Image: "agent:2"}) {
		t.Errorf("the owners are %v, the annotations %v", pull.OwnerReferences, pull.Annotations)
	}
	like := runningPod(0, "a").Spec
	same := []any{pull.Spec.NodeName, pull.Spec.ImagePullSecrets, pull.Spec.Tolerations, pull.Spec.SecurityContext, pull.Spec.ServiceAccountName}
	if difference := cmp.Diff([]any{"a", like.ImagePullSecrets, like.Tolerations, like.SecurityContext, "default"}, same); difference != "" {
		t.Errorf("(-want +got):\n%s", difference)
	}
	container := pull.Spec.Containers[0]
	if len(pull.Spec.Containers) != 1 || container.Image != "agent:2" || container.ImagePullPolicy != corev1.PullAlways ||
		strings.Join(container.Command, " ") != "/manager --version" || len(container.Resources.Limits) != 2 || pull.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("it runs %+v", pull.Spec.Containers)
	}
}

func TestWhereImagesArePulled(t *testing.T) {
	change := func(of corev1.Pod, change func(*corev1.Pod)) corev1.Pod {
		change(&of)
		return of
	}
	for name, test := range map[string]struct {
		pods []corev1.Pod
		want int
	}{
		"each node once":         {[]corev1.Pod{runningPod(0, "a"), runningPod(1, "b"), runningPod(2, "b")}, 2},
		"not for one that ends":  {[]corev1.Pod{change(runningPod(0, "a"), func(p *corev1.Pod) { p.DeletionTimestamp = &testkit.Now })}, 0},
		"not for one on no node": {[]corev1.Pod{runningPod(0, "")}, 0},
		"not for one that has never run": {[]corev1.Pod{change(runningPod(0, "a"), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{}
		})}, 0},
		"not for one of a Deployment": {[]corev1.Pod{change(runningPod(0, "a"), func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" })}, 0},
		"each image that the revision of the pod does not have": {[]corev1.Pod{change(runningPod(0, "a"), func(p *corev1.Pod) {
			p.Labels["controller-revision-hash"], p.Spec.Containers[0].Image = "cache-0", "mirror/memcached:1"
		})}, 2},
		"not where a policy has renamed an image of the revision": {[]corev1.Pod{change(runningPod(0, "a"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = "mirror/memcached:1"
		})}, 1},
		"not for one that has the image": {[]corev1.Pod{change(runningPod(0, "a"), func(p *corev1.Pod) { p.Spec.Containers[1].Image = "agent:2" })}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(desired.MakePulls(beforeNewAgent(t, test.pods...)).Create); len(got) != test.want {
				t.Errorf("pods to create are %v, want %d", got, test.want)
			}
		})
	}
}

func TestPullPodsThatExist(t *testing.T) {
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	ended := func(container string, code int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
			})
		}
	}
	waits := func(container, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
			})
		}
	}
	since := func(age time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(testkit.Now.Add(-age)) }
	}
	reached := func(in *inputs.Inputs) { in.Images.Agent = "agent:1" }
	underWay := func(in *inputs.Inputs) {
		in.Images.Agent = "agent:1"
		in.StatefulSet.Complete = false
		for i := range in.PullPods {
			in.PullPods[i].Annotations = map[string]string{inputs.PullAnnotation: `{"container":"agent","image":"agent:1"}`}
		}
	}
	nobodyRuns := func(in *inputs.Inputs) { in.Pods[0].DeletionTimestamp = &testkit.Now }
	for name, test := range map[string]struct {
		pod             []func(*corev1.Pod)
		change          func(*inputs.Inputs)
		create, deleted int
		pull            string
		invalid         bool
	}{
		"pulling": {pod: []func(*corev1.Pod){since(time.Second)}, pull: "Images are being pulled on node a"},
		"done":    {pod: []func(*corev1.Pod){ended("agent", 0)}},
		"done, beside a container of somebody else": {pod: []func(*corev1.Pod){waits("proxy", "ImagePullBackOff"), ended("agent", 0)}},
		"a container of somebody else has ended":    {pod: []func(*corev1.Pod){since(time.Second), ended("proxy", 0)}, pull: "Images are being pulled on node a"},
		"for a long time":                           {pod: []func(*corev1.Pod){since(5 * time.Minute)}, pull: "has been pulling an image for more than 2 minutes"},
		"failed":                                    {pod: []func(*corev1.Pod){since(time.Second), failed}, pull: "failed (OutOfpods): no room"},
		"failed a while ago":                        {pod: []func(*corev1.Pod){since(90 * time.Second), failed}, pull: "failed (OutOfpods): no room", create: 1, deleted: 1},
		"failed while it waited for its image": {pod: []func(*corev1.Pod){since(90 * time.Second), failed, waits("agent", "ErrImagePull")},
			pull: "cannot be pulled (ImagePullBackOff)", create: 1, deleted: 1},
		"cannot be pulled": {pod: []func(*corev1.Pod){since(4 * time.Minute), waits("agent", "ImagePullBackOff")}, pull: "cannot be pulled (ImagePullBackOff)"},
		"could not be pulled for a while": {pod: []func(*corev1.Pod){since(5 * time.Minute), waits("agent", "ErrImagePull")},
			pull: "cannot be pulled (ImagePullBackOff)", create: 1, deleted: 1},
		"failed before, and tries again": {pod: []func(*corev1.Pod){since(time.Second), func(p *corev1.Pod) {
			p.Annotations[inputs.PullProblemAnnotation] = `{"Message":"it failed"}`
		}}, pull: "On node a, it failed"},
		"the image is wanted no more": {pod: []func(*corev1.Pod){ended("agent", 0)}, change: reached, deleted: 1},
		"pods still get the image":    {pod: []func(*corev1.Pod){ended("agent", 0)}, change: underWay},
		"the program does not run": {pod: []func(*corev1.Pod){since(time.Second), ended("agent", 127)},
			pull: `the program in the image "agent:2" does not run: --version ends with exit code 127`},
		"the program was killed a while ago, beside a container of somebody else": {pod: []func(*corev1.Pod){since(90 * time.Second), waits("proxy", "ErrImagePull"), ended("agent", 137)},
			pull: "does not run: --version ends with exit code 137", create: 1, deleted: 1},
		"the program did not run a while ago": {pod: []func(*corev1.Pod){since(4 * time.Minute), failed, ended("agent", 127)},
			pull: "does not run: --version ends with exit code 127"},
		"the program did not run a longer while ago": {pod: []func(*corev1.Pod){since(5 * time.Minute), failed, ended("agent", 127)},
			pull: "does not run: --version ends with exit code 127", create: 1, deleted: 1},
		"no pod runs now, and the image cannot be pulled": {pod: []func(*corev1.Pod){since(4 * time.Minute), waits("agent", "ErrImagePull")}, change: nobodyRuns,
			pull: "On node a, the image \"agent:2\" of container agent cannot be pulled (ImagePullBackOff)"},
		"no pod runs now, and the image could not be pulled for a while": {pod: []func(*corev1.Pod){since(5 * time.Minute), waits("agent", "ErrImagePull")}, change: nobodyRuns,
			pull: "On node a, the image \"agent:2\" of container agent cannot be pulled (ImagePullBackOff)", deleted: 1},
		"no pod runs now, and the pod that pulls is being deleted": {pod: []func(*corev1.Pod){waits("agent", "ErrImagePull"), func(p *corev1.Pod) { p.DeletionTimestamp = &testkit.Now }},
			change: nobodyRuns},
		"no pod runs now, and the image is being pulled": {pod: []func(*corev1.Pod){since(time.Second)}, change: nobodyRuns, pull: "Images are being pulled on node a"},
		"no pod runs now, and the image is there":        {pod: []func(*corev1.Pod){ended("agent", 0)}, change: nobodyRuns},
		"no pod runs now, and another image is wanted": {pod: []func(*corev1.Pod){waits("agent", "ErrImagePull")}, change: func(in *inputs.Inputs) {
			nobodyRuns(in)
			in.Images.Agent = "agent:3"
		}, deleted: 1},
		"no pod is wanted": {pod: []func(*corev1.Pod){waits("agent", "ErrImagePull")}, change: func(in *inputs.Inputs) {
			in.Pods, in.Memcached.Spec.Size = nil, 0
		}, deleted: 1},
		"the spec is invalid meanwhile": {pod: []func(*corev1.Pod){since(time.Second)}, change: func(in *inputs.Inputs) { in.Memcached.Spec.Version = "9" },
			pull: "Images are being pulled on node a", invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := beforeNewAgent(t, runningPod(0, "a"))
			pull := *desired.MakePulls(in).Create[0]
			pull.Status.Reason, pull.Status.Message = "OutOfpods", "no room"
			for _, change := range test.pod {
				change(&pull)
			}
			in.PullPods = []corev1.Pod{pull}
			if test.change != nil {
				test.change(&in)
			}
			pulls := desired.MakePulls(in)
			if len(pulls.Create) != test.create || len(pulls.Delete) != test.deleted {
				t.Errorf("%d pods are created and %d deleted, want %d and %d", len(pulls.Create), len(pulls.Delete), test.create, test.deleted)
			}
			plan, err := desired.MakePlan(in)
			if (err != nil) != test.invalid {
				t.Fatal(err)
			}
			if (plan.Pull != nil) != (test.pull != "") || plan.Pull != nil && !strings.Contains(plan.Pull.Message, test.pull) {
				t.Errorf("it waits for %+v, want %q", plan.Pull, test.pull)
			}
			if (plan.Recheck != 0) != (plan.Pull != nil) {
				t.Errorf("the next look is in %s", plan.Recheck)
			}
		})
	}
}
