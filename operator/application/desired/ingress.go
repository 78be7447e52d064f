package desired

import (
	"cmp"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// rootPath is the default of the CRD schema.
const rootPath = "/"

// ingress returns the Ingress of an Application.
func ingress(in Inputs) *networkingv1ac.IngressApplyConfiguration {
	application, wanted := in.Application, in.Application.Spec.Ingress
	spec := networkingv1ac.IngressSpec().
		WithRules(networkingv1ac.IngressRule().
			WithHost(wanted.Host).
			WithHTTP(networkingv1ac.HTTPIngressRuleValue().
				WithPaths(networkingv1ac.HTTPIngressPath().
					WithPath(Path(wanted)).
					WithPathType(networkingv1.PathTypePrefix).
					WithBackend(networkingv1ac.IngressBackend().
						WithService(networkingv1ac.IngressServiceBackend().
							WithName(application.Name).
							WithPort(networkingv1ac.ServiceBackendPort().WithName(PortName)))))))
	if wanted.ClassName != "" {
		spec.WithIngressClassName(wanted.ClassName)
	}
	if wanted.TLSSecret != "" {
		spec.WithTLS(networkingv1ac.IngressTLS().WithHosts(wanted.Host).WithSecretName(wanted.TLSSecret))
	}
	return networkingv1ac.Ingress(application.Name, application.Namespace).
		WithLabels(Identity(application).Labels()).
		WithOwnerReferences(owner(in)).
		WithSpec(spec)
}

// Path returns the URL path prefix of an ingress.
func Path(ingress *v1alpha1.IngressSpec) string { return cmp.Or(ingress.Path, rootPath) }
