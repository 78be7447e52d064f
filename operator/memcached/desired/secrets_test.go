package desired_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// withOneUser is a cache whose users are one line that does not end with a newline.
func withOneUser(workload v1alpha1.WorkloadKind, change func(*v1alpha1.MemcachedSpec)) inputs.Inputs {
	in := inputsFor(testkit.MakeMemcached("cache").UID("uid").Size(1).Spec(func(s *v1alpha1.MemcachedSpec) {
		s.Workload, s.Auth = workload, &v1alpha1.MemcachedAuth{SecretName: "users"}
		change(s)
	}).Obj())
	in.Users = &corev1.Secret{Data: map[string][]byte{"users": []byte("shop:a-password")}}
	in.Users.Name, in.Now = "users", testkit.Now.Time
	return in
}

func invalidUsers(err error) bool {
	_, reason := reconcileerror.Describe(err)
	return reason == v1alpha1.ReasonInvalidUsers
}

func TestUsersThatAnOldMemcachedCannotRead(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*v1alpha1.MemcachedSpec)
		refused bool
	}{
		"the default version":            {func(*v1alpha1.MemcachedSpec) {}, false},
		"an old version":                 {func(s *v1alpha1.MemcachedSpec) { s.Version = "1.6.18" }, true},
		"an image of an old version":     {func(s *v1alpha1.MemcachedSpec) { s.Image, s.Version = "memcached:old", "1.6.20" }, true},
		"an image of a newer version":    {func(s *v1alpha1.MemcachedSpec) { s.Image, s.Version = "memcached:new", "1.6.38" }, false},
		"an image of an unknown version": {func(s *v1alpha1.MemcachedSpec) { s.Image = "memcached:any" }, false},
	} {
		for _, workload := range []v1alpha1.WorkloadKind{v1alpha1.WorkloadDeployment, v1alpha1.WorkloadStatefulSet} {
			t.Run(name+" in a "+string(workload), func(t *testing.T) {
				got, err := desired.MakePlan(withOneUser(workload, test.change))
				if invalidUsers(err) != test.refused || err != nil && !test.refused {
					t.Errorf("the error is %v", err)
				}
				if runs := len(got.Records) > 0; runs == test.refused {
					t.Errorf("the pods are made: %t", runs)
				}
			})
		}
	}
}

// Pods that run the old memcached go on, and its newer version stays pending.
func TestUsersThatTheMemcachedOfRunningPodsCannotRead(t *testing.T) {
	in := withOneUser(v1alpha1.WorkloadDeployment, func(*v1alpha1.MemcachedSpec) {})
	in.Users.Data["users"] = []byte("shop:a-password\n")
	in.Images.Default = "1.6.18"
	runs := planned[*appsv1ac.DeploymentApplyConfiguration](t, plan(t, in)).Spec.Template
	in.Deployment = &inputs.Workload{Template: runs, Spec: in.Memcached.Spec}
	in.Images.Default = "1.6.45"
	before := plan(t, in)
	in.Users.Data["users"] = []byte("shop:a-password")
	in.Memcached.Spec.Size = 5
	got, err := desired.MakePlan(in)
	if !invalidUsers(err) || before.Pending == nil || cmp.Diff(before.Pending, got.Pending) != "" {
		t.Errorf("the error is %v, pending is %+v", err, got.Pending)
	}
	now := planned[*appsv1ac.DeploymentApplyConfiguration](t, got)
	if difference := cmp.Diff(runs, now.Spec.Template); difference != "" || *now.Spec.Replicas != 5 {
		t.Errorf("the Deployment has %d pods and another template:\n%s", *now.Spec.Replicas, difference)
	}
	in.Memcached.Spec.Updates = &v1alpha1.MemcachedUpdates{Release: got.Pending.ID}
	plan(t, in)
}

// A newer memcached may be the user's mend. It does not wait for the newline while its image is being pulled.
func TestUsersThatANewerMemcachedCanRead(t *testing.T) {
	in := withOneUser(v1alpha1.WorkloadStatefulSet, func(s *v1alpha1.MemcachedSpec) { s.Version = "1.6.18" })
	in.Users.Data["users"] = []byte("shop:a-password\n")
	in.Records = plan(t, in).Records
	in.StatefulSet = &inputs.Workload{
		Template: in.Records[0].Template, Spec: in.Records[0].Spec, Record: &in.Records[0], Complete: true,
		Records: map[string]*inputs.Record{"cache-1": &in.Records[0]},
	}
	pod := runningPod(0, "a")
	in.Pods = []corev1.Pod{pod}
	in.Users.Data["users"] = []byte("shop:a-password")
	in.Memcached.Spec.Version = "1.6.45"
	if got := plan(t, in); got.Pull == nil {
		t.Error("the image is not pulled")
	}
}

// The operator wants 1.6.45, whose image cannot be pulled, so the pods keep 1.6.18. Then the user switches authentication on, with one
// line without a newline: pods of 1.6.18 would let nobody in.
func TestUsersThatTheImageThatIsKeptCannotRead(t *testing.T) {
	in := withOneUser(v1alpha1.WorkloadStatefulSet, func(s *v1alpha1.MemcachedSpec) { s.Auth = nil })
	in.Images.Default = "1.6.18"
	in.Records = plan(t, in).Records
	in.StatefulSet = &inputs.Workload{
		Template: in.Records[0].Template, Spec: in.Records[0].Spec, Record: &in.Records[0], Complete: true,
		Records: map[string]*inputs.Record{"cache-1": &in.Records[0]},
	}
	in.Pods = []corev1.Pod{runningPod(0, "a")}
	in.Images.Default = "1.6.45"
	in.Memcached.Spec.Auth = &v1alpha1.MemcachedAuth{SecretName: "users"}
	for _, pull := range desired.MakePulls(in).Create {
		pull.CreationTimestamp = metav1.NewTime(testkit.Now.Add(-time.Minute))
		waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
		if pull.Spec.Containers[0].Name == "agent" {
			waiting = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}
		pull.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pull.Spec.Containers[0].Name, State: waiting}}
		in.PullPods = append(in.PullPods, *pull)
	}
	got, err := desired.MakePlan(in)
	container := planned[*appsv1ac.StatefulSetApplyConfiguration](t, got).Spec.Template.Spec.Containers[0]
	if !invalidUsers(err) {
		t.Errorf("the pods get %s with %q, and nobody can log in", *container.Image, container.Args)
	}
}
