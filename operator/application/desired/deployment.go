package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

const (
	// ContainerName is the name of the container that runs the application.
	ContainerName = "application"

	// PortName is the name of the application's port, in the pod and in the Service.
	PortName = "http"

	// defaultPort is the default of the CRD schema.
	defaultPort = 8080

	// maxSurge is how many surplus pods a rolling update starts at a time.
	maxSurge = "25%"
)

// deployment returns the Deployment of an Application. A rolling update never has fewer ready pods than wanted.
func deployment(in Inputs) *appsv1ac.DeploymentApplyConfiguration {
	application, id := in.Application, Identity(in.Application)
	return appsv1ac.Deployment(application.Name, application.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(in)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(Replicas(application)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(id.Selector())).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromString(maxSurge)).
					WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(id.Labels()).
				WithSpec(podSpec(application, id))))
}
