package diff_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func memory(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: quantity(text)}
}

// everything returns a pod template with something in each part that Read looks at.
func everything() *corev1.PodTemplateSpec {
	size := quantity("96Mi")
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "cache"}, Annotations: map[string]string{"team": "shop"}},
		Spec: corev1.PodSpec{
			NodeSelector:      map[string]string{"disk": "fast"},
			PriorityClassName: "low",
			Affinity:          &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
			Tolerations:       []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{
				{
					Name: "memcached", Image: "memcached:1.6.38", Command: []string{"memcached"},
					Args:      []string{"-m", "64", "-e", "/cache/memory"},
					Resources: corev1.ResourceRequirements{Limits: memory("128Mi")},
					LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(9150)},
					}},
				},
				{
					Name: "agent", Image: "agent:1", Args: []string{"agent"},
					Resources: corev1.ResourceRequirements{Limits: memory("32Mi")},
				},
			},
			Volumes: []corev1.Volume{
				{Name: "certificates", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}},
				{Name: "users", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "users"}}},
				{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
					Medium: corev1.StorageMediumMemory, SizeLimit: &size,
				}}},
			},
		},
	}
}
