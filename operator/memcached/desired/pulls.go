package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/pods"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

const (
	// PullComponent is the label app.kubernetes.io/component of pods that pull images.
	PullComponent = "pull"

	// repeatPull is how long a pull pod is kept whose image cannot be pulled, when the kubelet itself tries again, or does not run.
	repeatPull = 5 * time.Minute

	// repeatEnded is how long a pull pod is kept that was ended from outside, for example with its node: nothing pulls any more. The
	// clocks of the operator and of the API server may differ by a minute.
	repeatEnded = 90 * time.Second

	// pullRecheck is when to look again at images that are missing. Pull pods are watched, but not what keeps them from being created.
	pullRecheck = 10 * time.Second
)

// Pulls are the pull pods to create and to delete.
type Pulls struct {
	// StatefulSet is what the cache gets once the images are there. What admission policies make of its images is to be pulled.
	StatefulSet owned.Configuration
	// Create are pods with the images as they were rendered. Some replace those of Delete.
	Create []*corev1.Pod
	// Delete are pods that have pulled what is not wanted any more, or have failed a while ago.
	Delete []*corev1.Pod
	// Now is the time.
	Now time.Time
}

// MakePulls returns what to do so that the images of the next template are on the nodes of the pods that are to get them. Kubernetes
// itself replaces the pods of a Deployment, so their images are not pulled first.
func MakePulls(in inputs.Inputs) Pulls {
	pulls := Pulls{Now: in.Now}
	if len(in.PullPods) == 0 && (len(in.Pods) == 0 || !inputs.StablePods(in.Memcached.Spec)) {
		return pulls // What follows renders the pods, which takes time.
	}
	wanted, _ := workloads(in)
	decision, _ := decide(in, wanted.given)
	needed := pullPods(in, pending.ImagesOf(decision.Wanted))
	if len(needed) > 0 {
		pulls.StatefulSet = wanted.make(in, inputs.Record{Template: decision.Wanted})
	}
	for i := range in.PullPods {
		found := &in.PullPods[i]
		next := needed[found.Name]
		problem, _ := inputs.PullOf(found, in.Now)
		again := problem.Message != "" && !problem.Slow && in.Now.Sub(found.CreationTimestamp.Time) >= keepFor(found)
		switch {
		case found.DeletionTimestamp != nil: // Another one can be created once it is gone.
		case !again && tellsOfNewPods(in, found, pending.ImagesOf(decision.Wanted)):
		case next == nil && !usesPulled(wanted.given, found):
			pulls.Delete = append(pulls.Delete, found)
		case next != nil && again:
			raw, _ := json.Marshal(problem) // A struct of texts can always be encoded.
			next.Annotations[inputs.PullProblemAnnotation] = string(raw)
			pulls.Delete = append(pulls.Delete, found)
			continue
		}
		delete(needed, found.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		pulls.Create = append(pulls.Create, needed[name])
	}
	return pulls
}

// keepFor returns how long a pull pod that has failed is kept before another one tries again.
func keepFor(failed *corev1.Pod) time.Duration {
	if inputs.PullEnded(failed) {
		return repeatEnded
	}
	return repeatPull
}

// usesPulled reports whether pods of a workload are still being updated to the image that a pod has pulled.
func usesPulled(given *inputs.Workload, found *corev1.Pod) bool {
	pulled := inputs.PulledBy(found)
	return given != nil && !given.Complete && pending.ImagesOf(given.Template)[pulled.Container] == pulled.Image
}

// missingImages returns the images that are missing on nodes, sorted by node and container.
func missingImages(in inputs.Inputs, images map[string]string) []pending.Missing {
	var missing []pending.Missing
	needed := pullPods(in, images)
	for i := range in.PullPods {
		if found := &in.PullPods[i]; tellsOfNewPods(in, found, images) {
			needed[found.Name] = found
		}
	}
	for name, wanted := range needed {
		problem, pulled := in.RefusedPulls[name], false
		if i := slices.IndexFunc(in.PullPods, func(p corev1.Pod) bool { return p.Name == name }); i >= 0 {
			problem, pulled = inputs.PullOf(&in.PullPods[i], in.Now)
		}
		if !pulled {
			missing = append(missing, pending.Missing{Container: inputs.PulledBy(wanted).Container, Node: wanted.Spec.NodeName, Problem: problem})
		}
	}
	slices.SortFunc(missing, func(a, b pending.Missing) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Container, b.Container))
	})
	return missing
}

// pullPods returns the pods that pull images, by name: one for each image and each node on which pods of the StatefulSet run that do
// not have it.
func pullPods(in inputs.Inputs, images map[string]string) map[string]*corev1.Pod {
	created := map[string]*corev1.Pod{}
	for i := range in.Pods {
		source := &in.Pods[i]
		if !serves(source) {
			continue
		}
		for container, image := range images {
			if hasImage(in, source, container, image) {
				continue
			}
			if pull := pullPod(in, source, inputs.Pulled{Container: container, Image: image}); created[pull.Name] == nil {
				created[pull.Name] = pull
			}
		}
	}
	return created
}

// tellsOfNewPods reports whether what a pull pod says of an image counts although no pod of the StatefulSet runs: all are deleted at the
// moment, for example, or the only one is. The new ones could not start with an image that cannot be pulled.
func tellsOfNewPods(in inputs.Inputs, found *corev1.Pod, images map[string]string) bool {
	pulled := inputs.PulledBy(found)
	return found.DeletionTimestamp == nil && inputs.StablePods(in.Memcached.Spec) && in.Memcached.Spec.Size > 0 && pulled.Image != "" && images[pulled.Container] == pulled.Image &&
		!slices.ContainsFunc(in.Pods, func(p corev1.Pod) bool { return serves(&p) })
}

// serves reports whether a pod of a StatefulSet runs memcached, and is to go on with that.
func serves(source *corev1.Pod) bool {
	controller := metav1.GetControllerOf(source)
	return controller != nil && controller.Kind == inputs.StatefulSet && source.Spec.NodeName != "" && !pods.Ending(source) && runsMemcached(source)
}

// runsMemcached reports whether memcached runs, so that a restart can do harm.
func runsMemcached(source *corev1.Pod) bool {
	return slices.ContainsFunc(source.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == pod.MemcachedContainer && s.State.Running != nil
	})
}

// hasImage reports whether a container of a pod has an image already, or its revision was rendered with it: an admission policy may have
// given it another name.
func hasImage(in inputs.Inputs, source *corev1.Pod, name, image string) bool {
	if container := pods.Container(source.Spec.Containers, name); container != nil && container.Image == image {
		return true
	}
	if in.StatefulSet == nil {
		return false
	}
	record := in.StatefulSet.Records[source.Labels[appsv1.ControllerRevisionHashLabelKey]]
	return record != nil && pending.ImagesOf(record.Template)[name] == image
}

// programs are what prints a version and ends.
var programs = map[string]string{pod.MemcachedContainer: "memcached", agentapi.AgentContainer: "/manager"}

// pullPod returns a pod that pulls an image on the node of another pod, in the way in which that one would. It has none of the labels
// of a cache, so nothing takes it for a pod of one.
func pullPod(in inputs.Inputs, source *corev1.Pod, pulled inputs.Pulled) *corev1.Pod {
	raw, _ := json.Marshal(pulled) // A struct of texts can always be encoded.
	sum := sha256.Sum256(append(raw, source.Spec.NodeName...))
	created := &corev1.Pod{}
	created.Namespace, created.Name = in.Memcached.Namespace, fmt.Sprintf("%s-pull-%s", in.Memcached.Name, hex.EncodeToString(sum[:5]))
	created.Labels = map[string]string{owned.LabelManagedBy: owned.Manager, owned.LabelComponent: PullComponent, inputs.CacheLabel: in.Memcached.Name}
	created.Annotations = map[string]string{inputs.PullAnnotation: string(raw)}
	created.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(in.Memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))}
	container := corev1.Container{
		Name: pulled.Container, Image: pulled.Image, Command: []string{programs[pulled.Container], "--version"}, Resources: pullResources(),
	}
	if like := pods.Container(source.Spec.Containers, pulled.Container); like != nil {
		container.SecurityContext, container.ImagePullPolicy = like.SecurityContext, like.ImagePullPolicy
	}
	created.Spec = corev1.PodSpec{
		Containers: []corev1.Container{container}, NodeName: source.Spec.NodeName, RestartPolicy: corev1.RestartPolicyNever,
		ImagePullSecrets: source.Spec.ImagePullSecrets, Tolerations: source.Spec.Tolerations, SecurityContext: source.Spec.SecurityContext,
		ServiceAccountName: source.Spec.ServiceAccountName, RuntimeClassName: source.Spec.RuntimeClassName,
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
	}
	return created.DeepCopy() // The caller changes it, and not the pods that it was made from.
}

// pullResources are for a program that prints a line. Quotas of a namespace may ask for all four.
func pullResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
}
