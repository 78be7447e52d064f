package memcached

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/desired/meta"
	"github.com/example/memcached-operator/operator/scope"
)

const (
	// ContainerName is the name of the container that runs memcached.
	ContainerName = "memcached"

	// Port is the TCP port that memcached listens on. It is memcached's own default.
	Port = 11211

	// PortName is the name of Port in the pod.
	PortName = "memcached"

	// itemMemoryMegabytes is memcached's -m: the memory for items, in MiB. It is memcached's own default.
	itemMemoryMegabytes = 64

	// maxConnections is memcached's -c: the number of clients connected at a time. It is memcached's own default, and
	// part of what memoryLimit has to hold.
	maxConnections = 1024
)

// deployment returns the nodes of a cache.
func deployment(in scope.MemcachedInputs) *appsv1ac.DeploymentApplyConfiguration {
	memcached, id := in.Memcached, Identity(in.Memcached)
	return appsv1ac.Deployment(memcached.Name, memcached.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(meta.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(memcached.Spec.Size).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
			WithStrategy(strategy()).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(id.Labels()).
				WithSpec(pod(in.Image, id))))
}

// strategy replaces nodes one at a time and never has fewer than wanted: each replaced node comes up empty, so the rest
// of the cache has to carry the load meanwhile.
func strategy() *appsv1ac.DeploymentStrategyApplyConfiguration {
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxSurge(intstr.FromInt32(1)).
			WithMaxUnavailable(intstr.FromInt32(0)))
}

// container runs memcached. The command is given because the entry point differs between images; it is found in PATH.
func container(image string) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(ContainerName).
		WithImage(image).
		WithCommand("memcached").
		// -m and its value are two arguments: memcached exits on "-m=64".
		WithArgs(
			"-p", strconv.Itoa(Port),
			"-m", strconv.Itoa(itemMemoryMegabytes),
			"-c", strconv.Itoa(maxConnections),
		).
		WithPorts(corev1ac.ContainerPort().
			WithName(PortName).
			WithContainerPort(Port).
			WithProtocol("TCP")).
		WithReadinessProbe(readiness()).
		WithLivenessProbe(liveness()).
		WithResources(resources()).
		WithSecurityContext(containerSecurity())
}
