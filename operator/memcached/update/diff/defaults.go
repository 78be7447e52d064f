package diff

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// fillDefaults sets the defaults that the API server sets in a pod template (k8s.io/kubernetes, pkg/apis/core/v1/defaults.go), so
// that a rendered template can be compared with a stored one.
func fillDefaults(spec *corev1.PodSpec) {
	fill(&spec.DNSPolicy, corev1.DNSClusterFirst)
	fill(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	fill(&spec.SchedulerName, corev1.DefaultSchedulerName)
	fill(&spec.DeprecatedServiceAccount, spec.ServiceAccountName)
	fillPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
	fillPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			fillContainer(&containers[i])
		}
	}
	for i := range spec.Volumes {
		fillVolume(&spec.Volumes[i].VolumeSource)
	}
}

func fillContainer(c *corev1.Container) {
	// The default depends on the image. It is removed and not filled in: otherwise a change of the image would be two changes.
	if c.ImagePullPolicy == pullPolicy(c.Image) {
		c.ImagePullPolicy = ""
	}
	fill(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fill(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		fill(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			fill(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil {
			continue
		}
		fill(&probe.TimeoutSeconds, 1)
		fill(&probe.PeriodSeconds, 10)
		fill(&probe.SuccessThreshold, 1)
		fill(&probe.FailureThreshold, 3)
		fillRequest(probe.HTTPGet)
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				fillRequest(handler.HTTPGet)
			}
		}
	}
}

func fillRequest(request *corev1.HTTPGetAction) {
	if request != nil {
		fill(&request.Path, "/")
		fill(&request.Scheme, corev1.URISchemeHTTP)
	}
}

func fillVolume(volume *corev1.VolumeSource) {
	if *volume == (corev1.VolumeSource{}) {
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if volume.Secret != nil {
		fillPointer(&volume.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if volume.ConfigMap != nil {
		fillPointer(&volume.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if volume.DownwardAPI != nil {
		fillPointer(&volume.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
	}
	if volume.Projected != nil {
		fillPointer(&volume.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	}
}

// pullPolicy returns the default for an image: Always for the tag "latest" and for an image without tag and digest, otherwise
// IfNotPresent.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if !strings.Contains(name, "@") && (!strings.Contains(name, ":") || strings.HasSuffix(name, ":latest")) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func fill[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

func fillPointer[T any](value **T, standard T) {
	if *value == nil {
		*value = &standard
	}
}
