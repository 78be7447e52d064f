package rollout_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/rollout"
)

const (
	name  = "cache"
	image = "memcached:"

	// mirror is the prefix that a webhook adds to images.
	mirror = "mirror/"
)

// startTime is when every test begins.
var startTime = time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)

// templateOptions are what a pod template is made from.
type templateOptions struct {
	version     string // Of memcached. The image of version "bad" cannot be pulled.
	agent       string // Image of the agent.
	memory      int64  // For items, in MiB.
	spare       int64  // The part of the memory limit beyond that, in MiB.
	connections int
	warm        bool
	labels      map[string]string
	annotations map[string]string
}

// withoutWarmRestart returns options for a cache that loses its items in a restart.
func withoutWarmRestart() templateOptions {
	return templateOptions{version: "1.6.18", agent: "agent:1", memory: 64, spare: 64, connections: 1024}
}

// withWarmRestart returns options for a cache that keeps its items in a restart.
func withWarmRestart() templateOptions {
	s := withoutWarmRestart()
	s.warm = true
	return s
}

// with returns a changed copy.
func (s templateOptions) with(edit func(*templateOptions)) templateOptions {
	s.labels, s.annotations = maps.Clone(s.labels), maps.Clone(s.annotations)
	edit(&s)
	return s
}

func newAgent(s *templateOptions)        { s.agent = "agent:2" }
func newVersion(s *templateOptions)      { s.version = "1.6.45" }
func moreConnections(s *templateOptions) { s.connections = 2048 }
func moreMemory(s *templateOptions)      { s.memory = 256 }

func moreMemoryAndNewAgent(s *templateOptions) {
	moreMemory(s)
	newAgent(s)
}

var (
	upgraded = withWarmRestart().with(newVersion)
	badImage = withWarmRestart().with(func(s *templateOptions) { s.version = "bad" })
)

func (s templateOptions) template() corev1.PodTemplateSpec {
	arguments := []string{"-m", fmt.Sprint(s.memory), "-c", strconv.Itoa(s.connections)}
	annotations := maps.Clone(s.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if s.warm {
		arguments = append(arguments, "-e", "/cache/memory")
	} else {
		annotations[agentapi.CacheMemoryAnnotation] = fmt.Sprint(s.memory)
	}
	labels := map[string]string{"app": name}
	maps.Copy(labels, s.labels)
	limit := *resource.NewQuantity((s.memory+s.spare)<<20, resource.BinarySI)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{
				Name: "memcached", Image: image + s.version, Command: []string{"memcached"}, Args: arguments,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: limit},
					Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: limit},
				},
			},
			{Name: "agent", Image: s.agent},
		}},
	}
	if s.agent == "" {
		template.Spec.Containers = template.Spec.Containers[:1]
	}
	return template
}

// version returns the version that the operator knows for an image. It knows none for images in a mirror.
func version(of string) string {
	known := map[string]string{image + "1.6.18": "1.6.18", image + "1.6.38": "1.6.38", image + "1.6.45": "1.6.45", image + "bad": "1.6.45"}
	return known[of]
}

// cluster simulates a cluster: a StatefulSet, its pods, the StatefulSet controller and the kubelets.
type cluster struct {
	t                *testing.T
	set              *appsv1.StatefulSet
	revisions        map[string]*appsv1.ControllerRevision
	records          []inputs.Record
	policy           func(*corev1.PodTemplateSpec) // Changes templates when they are written.
	pods             map[string]*corev1.Pod
	simulated        map[string]*simulatedPod // By the name of the pod.
	gate             *rollout.Gate
	resize           bool
	service          bool                               // Clients use a Service.
	keepsUnready     bool                               // The Service publishes pods that are not ready.
	webhook          func(pod *corev1.Pod, update bool) // Changes pods that are created or updated.
	brokenAgentImage string                             // An image of the agent whose probe fails.
	now              time.Time
	counter          int64
}

// newCluster returns a cluster in which all pods of the StatefulSet are ready and up to date.
func newCluster(t *testing.T, size int32, s templateOptions) *cluster {
	return newClusterWithWebhook(t, size, s, func(*corev1.Pod, bool) {})
}

// newClusterWithWebhook does the same in a cluster with a mutating webhook for pods.
func newClusterWithWebhook(t *testing.T, size int32, s templateOptions, webhook func(*corev1.Pod, bool)) *cluster {
	c := &cluster{
		webhook: webhook,
		t:       t, revisions: map[string]*appsv1.ControllerRevision{}, pods: map[string]*corev1.Pod{}, simulated: map[string]*simulatedPod{},
		resize: true, now: startTime,
		set: &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "set"},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(size)},
		},
	}
	c.want(s)
	c.settle(20)
	return c
}

// want changes the template, and lets the StatefulSet controller act on it.
func (c *cluster) want(s templateOptions) {
	c.wantTemplate(s.template())
}

// wantTemplate writes a template together with its record.
func (c *cluster) wantTemplate(template corev1.PodTemplateSpec) {
	record := inputs.Record{Workload: inputs.StatefulSet, Template: owned.Convert[corev1ac.PodTemplateSpecApplyConfiguration](template)}
	record.Name = hashOf(c.t, template)
	c.records = slices.Insert(c.records, 0, record)
	c.set.Spec.Template = *template.DeepCopy()
	c.set.Spec.Template.Annotations[owned.RecordAnnotation] = record.Name
	if c.policy != nil {
		c.policy(&c.set.Spec.Template)
	}
	c.set.Generation++
	c.seeTemplate()
}

// hashOf returns a name that depends on a template.
func hashOf(t *testing.T, template corev1.PodTemplateSpec) string {
	t.Helper()
	raw, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(raw)
	return fmt.Sprintf("%s-%x", name, hash.Sum32())
}

// seeTemplate does what the StatefulSet controller does about a new template: it creates its ControllerRevision.
func (c *cluster) seeTemplate() {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": c.set.Spec.Template}})
	if err != nil {
		c.t.Fatal(err)
	}
	revision := hashOf(c.t, c.set.Spec.Template)
	c.revisions[revision] = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: revision}, Data: runtime.RawExtension{Raw: raw}}
	c.set.Status.UpdateRevision, c.set.Status.ObservedGeneration = revision, c.set.Generation
}

// input returns copies of what the operator observes.
func (c *cluster) input() rollout.Input {
	s := rollout.Input{
		StatefulSet: c.set.DeepCopy(), States: map[string]*agentapi.State{}, Version: version, Gate: c.gate, Now: c.now,
		Records: c.records, Service: c.service, KeepsUnready: c.keepsUnready,
	}
	s.Features.Resize, s.Features.Shrink = c.resize, c.resize
	for _, revision := range c.revisions {
		s.Revisions = append(s.Revisions, *revision.DeepCopy())
	}
	for name, pod := range c.pods {
		s.Pods = append(s.Pods, *pod.DeepCopy())
		s.States[name] = c.simulated[name].state()
	}
	return s
}

// next returns the next step without making it.
func (c *cluster) next() rollout.Step {
	c.t.Helper()
	step, err := rollout.Next(c.input())
	if err != nil {
		c.t.Fatal(err)
	}
	return step
}

func (c *cluster) pod(ordinal int) *corev1.Pod {
	c.t.Helper()
	pod := c.pods[fmt.Sprintf("%s-%d", name, ordinal)]
	if pod == nil {
		c.t.Fatalf("there is no pod %d", ordinal)
	}
	return pod
}

func (c *cluster) simulatedPod(ordinal int) *simulatedPod { return c.simulated[c.pod(ordinal).Name] }

// unready makes a pod unready because of memcached, since some time ago.
func (c *cluster) unready(ordinal int, since time.Duration) {
	c.simulatedPod(ordinal).memcachedBroken = true
	statusOf(c.pod(ordinal), "memcached").Ready = false
	setReady(c.pod(ordinal), false, c.now.Add(-since))
}

// degrade makes a pod unready because of its agent, which cannot be reached either, since some time ago.
func (c *cluster) degrade(ordinal int, since time.Duration) {
	c.simulatedPod(ordinal).agentBroken = true
	statusOf(c.pod(ordinal), "agent").Ready = false
	setReady(c.pod(ordinal), false, c.now.Add(-since))
}
