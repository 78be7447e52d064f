package csv

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/hack/project"
)

// arch is the only architecture that the operator's image is built for.
const arch = "amd64"

// ManagerLabels select the operator's pods. The selector of a Deployment is immutable, so they must never change.
func ManagerLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": project.Package,
		"control-plane":          "controller-manager",
	}
}

// strategy is what OLM installs: a Deployment, and the permissions of its ServiceAccount.
func strategy(in Inputs) v1alpha1.StrategyDetailsDeployment {
	permission := func(rules []rbacv1.PolicyRule) []v1alpha1.StrategyDeploymentPermissions {
		if len(rules) == 0 {
			return nil
		}
		return []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: project.Deployment, Rules: rules}}
	}
	return v1alpha1.StrategyDetailsDeployment{
		DeploymentSpecs: []v1alpha1.StrategyDeploymentSpec{{
			Name: project.Deployment, Label: labels.Set(ManagerLabels()), Spec: deployment(in.OperatorImage),
		}},
		Permissions:        permission(in.NamespaceRules),
		ClusterPermissions: permission(in.ClusterRules),
	}
}

func deployment(image string) appsv1.DeploymentSpec {
	return appsv1.DeploymentSpec{
		// A second replica would only wait for the lease. Losing the pod delays reconciles and loses no cached items.
		Replicas: ptr.To[int32](1),
		Selector: &metav1.LabelSelector{MatchLabels: ManagerLabels()},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      ManagerLabels(),
				Annotations: map[string]string{"kubectl.kubernetes.io/default-container": project.Container},
			},
			Spec: corev1.PodSpec{
				ServiceAccountName:            project.Deployment,
				TerminationGracePeriodSeconds: ptr.To[int64](10),
				Affinity:                      supportedNodes(),
				// The image sets the user, and some clusters assign their own.
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot:   ptr.To(true),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{container(image)},
			},
		},
	}
}

func container(image string) corev1.Container {
	return corev1.Container{
		Name:    project.Container,
		Image:   image,
		Command: []string{"/manager"},
		Args: []string{
			"--leader-elect",
			fmt.Sprintf("--metrics-bind-address=:%d", project.MetricsPort),
			fmt.Sprintf("--health-probe-bind-address=:%d", project.ProbePort),
		},
		Env: environment(image),
		Ports: []corev1.ContainerPort{
			{Name: "https", ContainerPort: project.MetricsPort, Protocol: corev1.ProtocolTCP},
			{Name: "probes", ContainerPort: project.ProbePort, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe("/healthz", 15, 20),
		ReadinessProbe: probe("/readyz", 1, 5),
		Resources: corev1.ResourceRequirements{
			// On a busy node with a request of 10m, it got no CPU for 20 seconds, and did not renew its lease.
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
			},
			// There is no CPU limit: a throttled operator may lose its lease.
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			ReadOnlyRootFilesystem:   ptr.To(true),
			RunAsNonRoot:             ptr.To(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		// With this, `kubectl describe` shows the last log lines of a crashed container.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// environment tells the operator the images of caches. The agent runs the operator's own image.
func environment(image string) []corev1.EnvVar {
	variables := []corev1.EnvVar{
		{Name: project.AgentEnv, Value: image},
		{Name: project.DefaultOperandEnv, Value: project.DefaultOperand},
	}
	for _, operand := range project.Operands() {
		variables = append(variables, corev1.EnvVar{Name: operand.Env(), Value: operand.Image})
	}
	return variables
}

func probe(path string, delay, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")},
		},
		InitialDelaySeconds: delay, PeriodSeconds: period,
	}
}

// supportedNodes keeps the pod off nodes of other architectures and operating systems.
func supportedNodes() *corev1.Affinity {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				in(corev1.LabelArchStable, arch), in(corev1.LabelOSStable, "linux"),
			}}},
		},
	}}
}
