package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
)

// podSecurity merges the user's settings over those of the restricted pod security standard. A default that would
// contradict the user's settings is left out: runAsUser 0 implies that runAsNonRoot is not wanted.
func podSecurity(spec v1alpha1.ApplicationSpec) *corev1ac.PodSecurityContextApplyConfiguration {
	base := corev1ac.PodSecurityContext().
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
	if !isRoot(ptr.Deref(spec.PodSecurityContext, corev1.PodSecurityContext{}).RunAsUser) &&
		!isRoot(ptr.Deref(spec.SecurityContext, corev1.SecurityContext{}).RunAsUser) {
		base.WithRunAsNonRoot(true)
	}
	return owned.Overlay(base, spec.PodSecurityContext)
}

// containerSecurity does the same for the container.
func containerSecurity(spec v1alpha1.ApplicationSpec) *corev1ac.SecurityContextApplyConfiguration {
	base := corev1ac.SecurityContext().
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
	if !escalates(spec.SecurityContext) {
		base.WithAllowPrivilegeEscalation(false)
	}
	return owned.Overlay(base, spec.SecurityContext)
}

func isRoot(user *int64) bool { return user != nil && *user == 0 }

// escalates tells whether the API server would reject the settings together with allowPrivilegeEscalation false.
func escalates(wish *corev1.SecurityContext) bool {
	return wish != nil && (ptr.Deref(wish.Privileged, false) ||
		wish.Capabilities != nil && slices.Contains(wish.Capabilities.Add, "CAP_SYS_ADMIN"))
}
