package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// agent returns the container of the agent, which runs beside memcached.
func agent(s settings) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(agentapi.AgentContainer).
		WithImage(s.Images.Agent).
		WithCommand("/manager").
		WithArgs(agentArguments(s)...).
		WithPorts(corev1ac.ContainerPort().
			WithName(agentapi.MetricsPortName).
			WithContainerPort(agentapi.MetricsPort).
			WithProtocol("TCP")).
		WithReadinessProbe(answers("/readyz").WithPeriodSeconds(2).WithTimeoutSeconds(2).WithFailureThreshold(5)).
		WithLivenessProbe(answers("/healthz").WithPeriodSeconds(10).WithTimeoutSeconds(5).WithFailureThreshold(6)).
		WithResources(agentResources().configuration()).
		WithVolumeMounts(mountedBy(mounts(s), func(m mount) bool { return m.agent })...).
		WithSecurityContext(containerSecurity())
}

func agentArguments(s settings) []string {
	args := []string{"agent", "--directory=" + agentDirectory}
	if s.Spec.TLS != nil {
		args = append(args, "--tls-ca="+caFile, "--tls-server-name="+s.Host,
			"--tls-certificate="+certificateFile, "--tls-key="+keyFile)
	}
	if s.Spec.Auth != nil {
		args = append(args, "--users-file="+usersFile)
	}
	if inputs.ResizesLive(s.Spec) {
		args = append(args, "--cache-memory-file="+settingsDirectory+"/"+cacheMemoryFileName)
	}
	return args
}

// agentResources are for a process that is idle but for scrapes. They are those of earlier releases, whose agent took 42 MB where this one
// takes 12: others would be a pending change of every Deployment with an agent.
func agentResources() resources {
	return resources{
		requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
}

func answers(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
		WithPath(path).
		WithPort(intstr.FromString(agentapi.MetricsPortName)).
		WithScheme(corev1.URISchemeHTTP))
}
