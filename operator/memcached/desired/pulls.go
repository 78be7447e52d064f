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

	// repeatPull is how long a pull pod that failed is kept before another one tries again.
	repeatPull = time.Minute

	// pullRecheck is when to look again at images that are missing. Pull pods are watched, but not what keeps them from being created.
	pullRecheck = 10 * time.Second
)

// Pulls are the pull pods to create and to delete.
type Pulls struct {
	// StatefulSet is what the cache gets once the images are there. What admission policies make of its images is to be pulled.
	StatefulSet owned.Configuration

	// Create are pods with the images as they were rendered.
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
	wanted, _ := workloads(in)
	var needed map[string]*corev1.Pod
	if decision, err := decide(in, wanted.given); err == nil && len(decision.Images) > 0 {
		needed = pullPods(in, decision.Images)
		pulls.StatefulSet = wanted.make(in, inputs.Record{Template: decision.Wanted})
	}
	for i := range in.PullPods {
		found := &in.PullPods[i]
		_, isNeeded := needed[found.Name]
		failed := found.Status.Phase == corev1.PodFailed && in.Now.Sub(found.CreationTimestamp.Time) >= repeatPull
		if found.DeletionTimestamp == nil && (failed || !isNeeded && !usesPulled(wanted.given, found)) {
			pulls.Delete = append(pulls.Delete, found)
		}
		delete(needed, found.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		pulls.Create = append(pulls.Create, needed[name])
	}
	return pulls
}

// usesPulled reports whether pods of a workload are still being updated to images that a pod has pulled.
func usesPulled(given *inputs.Workload, found *corev1.Pod) bool {
	if given == nil || given.Complete || given.Template.Spec == nil {
		return false
	}
	images := inputs.PulledImages(found)
	return slices.ContainsFunc(given.Template.Spec.Containers, func(c pending.Container) bool {
		image := ptr.Deref(c.Image, "")
		return image != "" && images[ptr.Deref(c.Name, "")] == image
	})
}

// missingImages returns the nodes on which images are missing, sorted.
func missingImages(in inputs.Inputs, images map[string]string) []pending.Missing {
	var missing []pending.Missing
	for name, wanted := range pullPods(in, images) {
		pull := pending.Missing{Node: wanted.Spec.NodeName}
		i := slices.IndexFunc(in.PullPods, func(p corev1.Pod) bool { return p.Name == name })
		if i >= 0 {
			problem, pulled := inputs.PullOf(&in.PullPods[i], in.Now)
			if pulled {
				continue
			}
			pull.Problem = problem
		} else if refusal := in.RefusedPulls[name]; refusal != "" {
			pull.Problem = inputs.PullProblem{Message: refusal}
		}
		missing = append(missing, pull)
	}
	slices.SortFunc(missing, func(a, b pending.Missing) int { return cmp.Compare(a.Node, b.Node) })
	return missing
}

// pullPods returns the pods that pull images, by name: one for each node on which pods of the StatefulSet run that do not have the
// images.
func pullPods(in inputs.Inputs, images map[string]string) map[string]*corev1.Pod {
	created := map[string]*corev1.Pod{}
	for i := range in.Pods {
		source := &in.Pods[i]
		if source.Spec.NodeName == "" || pods.Ending(source) || !runsMemcached(source) || hasImages(source, images) {
			continue
		}
		pull := pullPod(in, source, images)
		if created[pull.Name] == nil {
			created[pull.Name] = pull
		}
	}
	return created
}

// runsMemcached reports whether memcached runs, so that a restart can do harm.
func runsMemcached(source *corev1.Pod) bool {
	return slices.ContainsFunc(source.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == pod.MemcachedContainer && s.State.Running != nil
	})
}

// hasImages reports whether a pod runs images already.
func hasImages(source *corev1.Pod, images map[string]string) bool {
	for name, image := range images {
		if container := pods.Container(source.Spec.Containers, name); container == nil || container.Image != image {
			return false
		}
	}
	return true
}

// programs are what prints a version and ends.
var programs = map[string]string{pod.MemcachedContainer: "memcached", agentapi.AgentContainer: "/manager"}

// pullPod returns a pod that pulls images on the node of another pod, in the way in which that one would. It has none of the labels
// of a cache, so nothing takes it for a pod of one.
func pullPod(in inputs.Inputs, source *corev1.Pod, images map[string]string) *corev1.Pod {
	pulled, _ := json.Marshal(images) // A map of strings can always be encoded.
	sum := sha256.Sum256(append(pulled, source.Spec.NodeName...))
	created := &corev1.Pod{}
	created.Namespace, created.Name = in.Memcached.Namespace, fmt.Sprintf("%s-pull-%s", in.Memcached.Name, hex.EncodeToString(sum[:5]))
	created.Labels = map[string]string{owned.LabelManagedBy: owned.Manager, owned.LabelComponent: PullComponent, inputs.CacheLabel: in.Memcached.Name}
	created.Annotations = map[string]string{inputs.PullAnnotation: string(pulled)}
	created.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(in.Memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))}
	created.Spec = corev1.PodSpec{
		NodeName: source.Spec.NodeName, RestartPolicy: corev1.RestartPolicyNever,
		ImagePullSecrets: source.Spec.ImagePullSecrets, Tolerations: source.Spec.Tolerations, SecurityContext: source.Spec.SecurityContext,
		ServiceAccountName: source.Spec.ServiceAccountName, RuntimeClassName: source.Spec.RuntimeClassName,
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
	}
	for _, name := range slices.Sorted(maps.Keys(images)) {
		container := corev1.Container{Name: name, Image: images[name], Command: []string{programs[name], "--version"}, Resources: pullResources()}
		if like := pods.Container(source.Spec.Containers, name); like != nil {
			container.SecurityContext, container.ImagePullPolicy = like.SecurityContext, like.ImagePullPolicy
		}
		created.Spec.Containers = append(created.Spec.Containers, container)
	}
	return created.DeepCopy() // Other pods are not to be changed by whoever creates it.
}

// pullResources are for a program that prints a line. Quotas of a namespace may ask for all four.
func pullResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
}
