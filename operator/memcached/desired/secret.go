package desired

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

const (
	// bindingType is what the service is, in the words of the Service Binding Specification. The Secret's own type is
	// made of it as the specification asks.
	bindingType   = "memcached"
	bindingSecret = corev1.SecretType("servicebinding.io/" + bindingType)
)

// binding tells clients how to reach a cache, in the form of the Service Binding Specification: an entry is an
// environment variable or a file to them. data and not stringData: the API server never returns the latter, so it could
// not be compared.
func binding(in inputs.Inputs) *corev1ac.SecretApplyConfiguration {
	memcached := in.Memcached
	host, port := Host(memcached.Namespace, memcached.Name), strconv.Itoa(args.Port)
	return corev1ac.Secret(BindingName(memcached.Name), memcached.Namespace).
		WithLabels(Identity(memcached).Labels()).
		WithOwnerReferences(owner(memcached)).
		WithType(bindingSecret).
		WithData(map[string][]byte{
			"type":     []byte(bindingType),
			"provider": []byte(owned.Manager),
			"host":     []byte(host),
			"port":     []byte(port),
			"uri":      []byte("memcached://" + net.JoinHostPort(host, port)),
		})
}
