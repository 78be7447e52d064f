package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// drainSeconds is how long a pod goes on serving after it was told to stop. Those who send requests learn of its end at
// the same time as the pod itself, and need a moment to stop sending.
const drainSeconds = 5

// podSpec is what each replica is made of.
func podSpec(application *v1alpha1.Application, id owned.Identity) *corev1ac.PodSpecApplyConfiguration {
	return corev1ac.PodSpec().
		// An application that was not written for Kubernetes has no use for the API server, nor for variables about the
		// namespace's Services, which can clash with its own.
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithSecurityContext(podSecurity(application.Spec)).
		// Losing one machine should lose few pods; but a cluster with a single machine still runs them all.
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
		WithEnv(bindingVariables(application)...). // First, so that the user's may refer to them.
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

// environment returns the variables that the user wants. A reference to a field is compared as a whole, so what the API
// server adds to it is given.
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

// readiness lets a pod serve as soon as its port accepts connections. The kubelet looks at a new container when it
// starts and then once a period, so the period is also how long a start takes.
func readiness() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(PortName))).
		WithInitialDelaySeconds(1).
		WithPeriodSeconds(2).
		WithTimeoutSeconds(2).
		WithFailureThreshold(3)
}
