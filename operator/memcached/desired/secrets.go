package desired

import (
	"fmt"
	"time"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired/secrets"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// secretsRecheck is how soon Secrets that are all right are looked at again: those of users are not watched, and
// certificates expire by themselves. It costs a read of each.
const secretsRecheck = 30 * time.Second

func recheck(spec v1alpha1.MemcachedSpec) time.Duration {
	if spec.TLS != nil || spec.Auth != nil {
		return secretsRecheck
	}
	return 0
}

// checkSecrets returns what is wrong with the Secrets that a spec names. Pods that need them are not made until they are
// right; memcached would not start, or serve nobody.
func checkSecrets(in inputs.Inputs) error {
	spec := in.Memcached.Spec
	if tls := spec.TLS; tls != nil {
		if in.Certificate == nil {
			return missing("tls", tls.SecretName, in.Memcached.Namespace)
		}
		slots := spec.Workload == v1alpha1.WorkloadStatefulSet
		host := Host(in.Memcached.Namespace, in.Memcached.Name)
		if err := secrets.Certificate(in.Certificate, host, slots, tls.ClientCertificates, in.Now); err != nil {
			return err
		}
	}
	if auth := spec.Auth; auth != nil {
		if in.Users == nil {
			return missing("auth", auth.SecretName, in.Memcached.Namespace)
		}
		if err := secrets.Users(in.Users); err != nil {
			return err
		}
	}
	return nil
}

func missing(field, name, namespace string) error {
	return reconcileerror.Waiting(v1alpha1.ReasonSecretNotFound, secrets.Recheck, fmt.Errorf(
		"spec.%s.secretName: there is no Secret %s in the namespace %s: create it, or name another", field, name, namespace))
}
