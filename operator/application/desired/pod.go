package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// drainSeconds is how long a pod continues to serve after it is told to stop. Clients learn of its termination at the
// same time as the pod and need a moment to stop sending requests.
const drainSeconds = 5

// podSpec returns the pod template of the application.
func podSpec(application *v1alpha1.Application, id owned.Identity) *corev1ac.PodSpecApplyConfiguration {
	return corev1ac.PodSpec().
		// An ordinary application needs neither access to the API server nor the variables of the namespace's Services,
		// which can conflict with its own.
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(podSecurity(application.Spec)).
		// The loss of a node should affect few pods; a cluster with a single node still runs all of them.
		WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(corev1.LabelHostname).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector()))).
		WithContainers(container(application)).
		WithVolumes(bindingVolumes(application)...)
}

func container(application *v1alpha1.Application) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().
		WithName(ContainerName).
		WithImage(application.Spec.Image).
		WithPorts(corev1ac.ContainerPort().
								WithName(PortName).
								WithContainerPort(Port(application)).
								WithProtocol(corev1.ProtocolTCP)).
		WithEnv(bindingVariables(application)...). // First, so that variables of the user can refer to them.
		WithEnv(environment(application)...).
		WithVolumeMounts(bindingMounts(application)...).
		WithReadinessProbe(readiness()).
		WithLifecycle(corev1ac.Lifecycle().
			WithPreStop(corev1ac.LifecycleHandler().
				WithSleep(corev1ac.SleepAction().WithSeconds(drainSeconds)))).
		WithSecurityContext(containerSecurity(application.Spec))
	if resources := application.Spec.Resources; len(resources.Requests)+len(resources.Limits)+len(resources.Claims) > 0 {
		container.WithResources(owned.Convert[corev1ac.ResourceRequirementsApplyConfiguration](resources))
	}
	return container
}

// environment returns the variables of the user. A fieldRef is compared as a whole, so the default that the API server
// adds is set.
func environment(application *v1alpha1.Application) []*corev1ac.EnvVarApplyConfiguration {
	var variables []*corev1ac.EnvVarApplyConfiguration
	for _, variable := range application.Spec.Env {
		wanted := owned.Convert[corev1ac.EnvVarApplyConfiguration](variable)
		if wanted.ValueFrom != nil && wanted.ValueFrom.FieldRef != nil && wanted.ValueFrom.FieldRef.APIVersion == nil {
			wanted.ValueFrom.FieldRef.WithAPIVersion("v1")
		}
		variables = append(variables, wanted)
	}
	return variables
}

// readiness makes a pod ready when its port accepts connections. The kubelet probes a new container when it starts and
// then once per period, so the period is also the time until a new pod is ready.
func readiness() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(PortName))).
		WithInitialDelaySeconds(1).
		WithPeriodSeconds(2).
		WithTimeoutSeconds(2).
		WithFailureThreshold(3)
}
