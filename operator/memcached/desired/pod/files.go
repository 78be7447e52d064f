package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/memcached/desired/secrets"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// Where files are. The Secrets are mounted as directories: a file mounted by itself (subPath) is never updated.
const (
	cacheDirectory        = "/cache"
	memoryFile            = cacheDirectory + "/memory"
	certificatesDirectory = "/etc/memcached/tls"
	certificateFile       = certificatesDirectory + "/" + corev1.TLSCertKey
	keyFile               = certificatesDirectory + "/" + corev1.TLSPrivateKeyKey
	caFile                = certificatesDirectory + "/" + secrets.CAKey
	usersDirectory        = "/etc/memcached/auth"
	usersFile             = usersDirectory + "/" + secrets.UsersKey
	agentDirectory        = "/var/lib/agent"
	settingsDirectory     = "/etc/agent"
	cacheMemoryFileName   = "cache-memory"
)

// Volumes that only the agent mounts.
const (
	agentVolume    = "agent"
	settingsVolume = "settings"
)

// mount is a volume, and who sees it where.
type mount struct {
	volume           *corev1ac.VolumeApplyConfiguration
	path             string
	memcached, agent bool
	writable         bool
}

// mounts returns what a pod mounts.
func mounts(s settings) []mount {
	var mounts []mount
	if s.Spec.WarmRestart {
		mounts = append(mounts, mount{path: cacheDirectory, memcached: true, writable: true, volume: volume(CacheVolume).
			WithEmptyDir(corev1ac.EmptyDirVolumeSource().
				WithMedium(corev1.StorageMediumMemory).
				WithSizeLimit(*resource.NewQuantity(s.size.VolumeSize, resource.BinarySI)))})
	}
	if s.Spec.TLS != nil {
		mounts = append(mounts, mount{path: certificatesDirectory, memcached: true, agent: true,
			volume: secret(CertificatesVolume, s.Spec.TLS.SecretName)})
	}
	if s.Spec.Auth != nil {
		mounts = append(mounts, mount{path: usersDirectory, memcached: true, agent: true,
			volume: secret(UsersVolume, s.Spec.Auth.SecretName)})
	}
	if inputs.NeedsAgent(s.Spec) {
		mounts = append(mounts, mount{path: agentDirectory, agent: true, writable: true,
			volume: volume(agentVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource())})
	}
	if inputs.ResizesLive(s.Spec) {
		mounts = append(mounts, mount{path: settingsDirectory, agent: true, volume: volume(settingsVolume).
			WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(corev1ac.DownwardAPIVolumeFile().
				WithPath(cacheMemoryFileName).
				WithFieldRef(corev1ac.ObjectFieldSelector().
					WithAPIVersion("v1").
					WithFieldPath("metadata.annotations['" + agentapi.CacheMemoryAnnotation + "']"))))})
	}
	return mounts
}

func volume(name string) *corev1ac.VolumeApplyConfiguration { return corev1ac.Volume().WithName(name) }

func secret(name, secret string) *corev1ac.VolumeApplyConfiguration {
	return volume(name).WithSecret(corev1ac.SecretVolumeSource().WithSecretName(secret))
}

// mountedBy returns the mounts of one container.
func mountedBy(mounts []mount, seen func(mount) bool) []*corev1ac.VolumeMountApplyConfiguration {
	var mounted []*corev1ac.VolumeMountApplyConfiguration
	for _, m := range mounts {
		if !seen(m) {
			continue
		}
		configuration := corev1ac.VolumeMount().WithName(*m.volume.Name).WithMountPath(m.path)
		if !m.writable {
			configuration.WithReadOnly(true)
		}
		mounted = append(mounted, configuration)
	}
	return mounted
}
