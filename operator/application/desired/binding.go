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
	// ServersVariable is the environment variable with the addresses of the caches, "host:port,host:port", in the order of the spec.
	ServersVariable = "MEMCACHED_SERVERS"

	// RootVariable is the environment variable with the directory of the bindings (https://servicebinding.io).
	RootVariable = "SERVICE_BINDING_ROOT"

	// bindingRoot is that directory. It has one directory for each cache.
	bindingRoot = "/bindings"

	// volumePrefix is short enough for the longest name of a cache: together they are a valid volume name.
	volumePrefix = "binding-"
)

// bindingVariables returns the variables with the addresses of the caches. An address follows from the name of the
// cache, so the cache need not exist.
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

// bindingVolumes returns a volume for the binding Secret of each cache. The Secrets are optional: a pod starts without
// them, and the kubelet fills the directory when the Secret appears.
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
