package memcached

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/desired/meta"
)

const (
	// userID is the user that memcached runs as. Pod security wants a number, and images name their user: 11211 is
	// memcached's in the official images. An image without that user works as well.
	userID = 11211

	// memory is both requested and the limit, so that a node is never evicted for using what it may use. memcached with
	// -m 64 full of small items was measured at 76.7 MB; the rest is for connections, threads and a burst of large
	// requests.
	memory = "128Mi"

	// cpuRequest is what an idle to moderately used node needs.
	cpuRequest = "50m"

	// cpuLimit exists because namespaces with a quota on limits.cpu refuse pods without one. memcached is throttled only
	// when it uses a whole CPU, which is some hundred thousand requests a second.
	cpuLimit = "1"
)

// pod is what each node is made of. Fields that are left out have no influence on memcached, or defaults that suit it.
func pod(image string, id meta.Identity) *corev1ac.PodSpecApplyConfiguration {
	return corev1ac.PodSpec().
		// memcached does not talk to the API server, and needs no variables about the namespace's Services.
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(userID).
			WithRunAsGroup(userID).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		// Losing one machine should lose few nodes; but a cluster with a single machine still runs them all.
		WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(corev1.LabelHostname).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector()))).
		WithContainers(container(image))
}

func containerSecurity() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

func resources() *corev1ac.ResourceRequirementsApplyConfiguration {
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpuRequest),
			corev1.ResourceMemory: resource.MustParse(memory),
		}).
		WithLimits(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpuLimit),
			corev1.ResourceMemory: resource.MustParse(memory),
		})
}

// readiness takes a node out of Services soon, after ten seconds of silence, because clients notice a silent node at once.
// It begins after a second because memcached takes some milliseconds to listen, and each failed probe is an event. The
// kubelet looks at a new container when it starts and then once a period, so the period is also how long a start takes.
func readiness() *corev1ac.ProbeApplyConfiguration {
	return connects().WithInitialDelaySeconds(1).WithPeriodSeconds(2).WithTimeoutSeconds(2).WithFailureThreshold(5)
}

// liveness restarts a node late, because a restart empties it: only after a minute of silence.
func liveness() *corev1ac.ProbeApplyConfiguration {
	return connects().WithPeriodSeconds(10).WithTimeoutSeconds(5).WithFailureThreshold(6)
}

// connects succeeds when the port accepts a connection, which memcached does even when all its connections are taken.
func connects() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(PortName)))
}
