package desired

import (
	"cmp"
	"strings"

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

// Address returns host and path of the ingress, which only one Application may have. It is empty without an ingress. A
// trailing "/" of the path does not matter.
func Address(application *v1alpha1.Application) string {
	if application.Spec.Ingress == nil {
		return ""
	}
	return application.Spec.Ingress.Host + strings.TrimSuffix(Path(application.Spec.Ingress), "/")
}

// Holder returns the other Application that holds the address of in.Application, nil if in.Application holds it. The
// oldest one holds an address, so that a new Application never takes over an address in use.
func Holder(in Inputs) *v1alpha1.Application {
	holder := in.Application
	for i := range in.Claimants {
		if older(&in.Claimants[i], holder) {
			holder = &in.Claimants[i]
		}
	}
	if holder == in.Application {
		return nil
	}
	return holder
}

// older orders Applications by creation time, then by namespace and name.
func older(a, b *v1alpha1.Application) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
