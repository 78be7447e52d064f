package desired

import (
	"fmt"
	"time"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/desired/secrets"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// secretsRecheck is how often valid Secrets are read again: Secrets of users are not watched, and certificates expire. It
// costs one read of each.
const secretsRecheck = 30 * time.Second

func recheck(spec v1alpha1.MemcachedSpec) time.Duration {
	if spec.TLS != nil || spec.Auth != nil {
		return secretsRecheck
	}
	return 0
}

// checkSecrets returns what is wrong with the Secrets that a spec names, whatever the version of memcached. Pods that need them are not
// created until they are valid: memcached would not start, or would refuse every client.
func checkSecrets(in inputs.Inputs) error {
	spec := in.Memcached.Spec
	if tls := spec.TLS; tls != nil {
		if in.Certificate == nil {
			return missing("tls", tls.SecretName, in.Memcached.Namespace)
		}
		stable := inputs.StablePods(spec)
		host := Host(in.Memcached.Namespace, in.Memcached.Name)
		if err := secrets.Certificate(in.Certificate, host, stable, tls.ClientCertificates, in.Now); err != nil {
			return err
		}
	}
	if auth := spec.Auth; auth != nil {
		if in.Users == nil {
			return missing("auth", auth.SecretName, in.Memcached.Namespace)
		}
		if err := secrets.Users(in.Users, ""); err != nil {
			return err
		}
	}
	return nil
}

// checkUsersOf returns why memcached lets nobody log in with the users of the spec: that of the template which a workload gets, and that of
// the template which it gets once images have been pulled. While it waits for these, what it has does not count.
func checkUsersOf(in inputs.Inputs, given *inputs.Workload, decision pending.Decision) error {
	if in.Memcached.Spec.Auth == nil {
		return nil
	}
	templates := []*pending.Template{decision.Given.Template}
	if decision.Wanted != nil && given != nil && decision.Given.Template == given.Template {
		templates = nil
	}
	if decision.Wanted != nil {
		templates = append(templates, decision.Wanted)
	}
	for _, template := range templates {
		recorded := ""
		if template.ObjectMetaApplyConfiguration != nil {
			recorded = template.Annotations[pod.VersionAnnotation]
		}
		version := in.VersionOf(pending.ImagesOf(template)[pod.MemcachedContainer], recorded)
		if err := secrets.Users(in.Users, version); err != nil {
			return err
		}
	}
	return nil
}

func missing(field, name, namespace string) error {
	return reconcileerror.Waiting(v1alpha1.ReasonSecretNotFound, secrets.Recheck, fmt.Errorf(
		"spec.%s.secretName: there is no Secret %s in the namespace %s: create it, or name another", field, name, namespace))
}
