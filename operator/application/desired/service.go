package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// service returns the Service of an Application.
func service(in Inputs) *corev1ac.ServiceApplyConfiguration {
	application, id := in.Application, Identity(in.Application)
	return corev1ac.Service(application.Name, application.Namespace).
		WithLabels(id.Labels()).
		WithOwnerReferences(owner(in)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(id.Selector()).
			WithPorts(corev1ac.ServicePort().
				WithName(PortName).
				WithPort(Port(application)).
				WithTargetPort(intstr.FromString(PortName)).
				WithProtocol(corev1.ProtocolTCP)))
}
