package desired

import (
	"fmt"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/desired"
)

const (
	// ServersVariable names the caches' addresses, "host:port,host:port", in the order of the spec.
	ServersVariable = "MEMCACHED_SERVERS"

	// RootVariable names the directory of the bindings, as https://servicebinding.io wants it.
	RootVariable = "SERVICE_BINDING_ROOT"

	// bindingRoot is that directory: one directory below it for each cache.
	bindingRoot = "/bindings"

	// volumePrefix and the longest name of a cache make a name that a volume may have.
	volumePrefix = "binding-"
)

// bindingVariables tells the application where its caches are. A cache's address follows from its name, so that it can
// be given before the cache exists.
func bindingVariables(application *v1alpha1.Application) []*corev1ac.EnvVarApplyConfiguration {
	var servers []string
	for _, cache := range application.Spec.Caches {
		servers = append(servers, fmt.Sprintf("%s:%d", desired.Host(application.Namespace, cache.Name), args.Port))
	}
	if len(servers) == 0 {
		return nil
	}
	return []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName(ServersVariable).WithValue(strings.Join(servers, ",")),
		corev1ac.EnvVar().WithName(RootVariable).WithValue(bindingRoot),
	}
}

// bindingVolumes holds the caches' binding Secrets. They are optional: a pod starts without, and the kubelet fills the
// directory when the Secret appears.
func bindingVolumes(application *v1alpha1.Application) []*corev1ac.VolumeApplyConfiguration {
	var volumes []*corev1ac.VolumeApplyConfiguration
	for _, cache := range application.Spec.Caches {
		volumes = append(volumes, corev1ac.Volume().
			WithName(volumePrefix+cache.Name).
			WithSecret(corev1ac.SecretVolumeSource().
				WithSecretName(desired.BindingName(cache.Name)).
				WithOptional(true)))
	}
	return volumes
}

func bindingMounts(application *v1alpha1.Application) []*corev1ac.VolumeMountApplyConfiguration {
	var mounts []*corev1ac.VolumeMountApplyConfiguration
	for _, cache := range application.Spec.Caches {
		mounts = append(mounts, corev1ac.VolumeMount().
			WithName(volumePrefix+cache.Name).
			WithMountPath(bindingRoot+"/"+cache.Name).
			WithReadOnly(true))
	}
	return mounts
}
