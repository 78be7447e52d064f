package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired/entry"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// PortName is the name of memcached's port, in the pod and in Services.
const PortName = "memcached"

// memcached runs memcached. The command is given because the entry point differs between images; it is found in PATH.
func memcached(s settings) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().
		WithName(MemcachedContainer).
		WithImage(s.image).
		WithCommand("memcached").
		WithArgs(arguments(s)...).
		WithPorts(corev1ac.ContainerPort().
			WithName(PortName).
			WithContainerPort(args.Port).
			WithProtocol("TCP")).
		WithReadinessProbe(readiness()).
		WithLivenessProbe(liveness()).
		WithResources(s.resources.configuration()).
		WithVolumeMounts(mountedBy(mounts(s), func(m mount) bool { return m.memcached })...).
		WithSecurityContext(containerSecurity())
	if inputs.ResizesLive(s.Spec) {
		// What a smaller cache gives back, the C library would keep for itself: 200 MiB stayed resident with 66 in use.
		// Pages of items are 1 MiB; from half of that on, memory goes back to the kernel at once.
		container.WithEnv(corev1ac.EnvVar().WithName("MALLOC_MMAP_THRESHOLD_").WithValue("524288"))
	}
	if s.Spec.WarmRestart {
		container.Command = nil
		container.WithCommand(entry.Command(memoryFile)...).
			WithStartupProbe(starting()).
			WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
				WithExec(corev1ac.ExecAction().WithCommand(entry.PreStop(memoryFile)...))))
	}
	return container
}

func containerSecurity() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// readiness takes a pod out of Services after ten seconds of silence, because clients notice a silent pod at once.
// It begins after a second because memcached takes some milliseconds to listen, and each failed probe is an event. The
// kubelet looks at a new container when it starts and then once a period, so the period is also how long a start takes.
func readiness() *corev1ac.ProbeApplyConfiguration {
	return connects().WithInitialDelaySeconds(1).WithPeriodSeconds(2).WithTimeoutSeconds(2).WithFailureThreshold(5)
}

// liveness restarts memcached only after a minute of silence, because a restart loses the items.
func liveness() *corev1ac.ProbeApplyConfiguration {
	return connects().WithPeriodSeconds(10).WithTimeoutSeconds(5).WithFailureThreshold(6)
}

// starting gives memcached ten minutes to find its items again: it listens only then, and liveness would end it before.
// Millions of items take a second or two.
func starting() *corev1ac.ProbeApplyConfiguration {
	return connects().WithInitialDelaySeconds(1).WithPeriodSeconds(1).WithTimeoutSeconds(2).WithFailureThreshold(600)
}

// connects succeeds when the port accepts a connection, which memcached does even when all its connections are taken.
func connects() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(PortName)))
}

func podSecurity() *corev1ac.PodSecurityContextApplyConfiguration {
	return corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithRunAsUser(userID).
		WithRunAsGroup(userID).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}
