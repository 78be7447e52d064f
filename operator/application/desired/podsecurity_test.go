package desired_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// What a spec can say about security reaches the pods, so all of it has to be judged.
func TestPodsBeyondTheLevelAreRefused(t *testing.T) {
	unconfined := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	noAppArmor := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	selinux := &corev1.SELinuxOptions{Type: "spc_t"}
	windows := &corev1.WindowsSecurityContextOptions{HostProcess: ptr.To(true)}
	for name, test := range map[string]struct {
		level     api.Level
		pod       corev1.PodSecurityContext
		container corev1.SecurityContext
		says      string // Empty if the pods are not refused.
	}{
		"the defaults":                  {},
		"the defaults, restricted":      {level: api.LevelRestricted},
		"root":                          {pod: corev1.PodSecurityContext{RunAsUser: ptr.To[int64](0)}},
		"a capability that Docker has":  {container: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}}},
		"escalation":                    {container: corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(true)}},
		"a safe sysctl":                 {pod: corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "80"}}}},
		"root, restricted":              {level: api.LevelRestricted, pod: corev1.PodSecurityContext{RunAsUser: ptr.To[int64](0)}, says: "runAsNonRoot"},
		"escalation, restricted":        {level: api.LevelRestricted, container: corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(true)}, says: "allowPrivilegeEscalation"},
		"privileged":                    {container: corev1.SecurityContext{Privileged: ptr.To(true)}, says: "securityContext.privileged=true"},
		"privileged, and allowed":       {level: api.LevelPrivileged, container: corev1.SecurityContext{Privileged: ptr.To(true)}},
		"a capability":                  {container: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}, says: "SYS_ADMIN"},
		"a capability, in another form": {container: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CAP_SYS_ADMIN"}}}, says: "SYS_ADMIN"},
		"no seccomp":                    {pod: corev1.PodSecurityContext{SeccompProfile: unconfined}, says: "seccompProfile"},
		"no seccomp of the container":   {container: corev1.SecurityContext{SeccompProfile: unconfined}, says: "seccompProfile"},
		"no AppArmor":                   {pod: corev1.PodSecurityContext{AppArmorProfile: noAppArmor}, says: "AppArmor"},
		"no AppArmor of the container":  {container: corev1.SecurityContext{AppArmorProfile: noAppArmor}, says: "AppArmor"},
		"SELinux":                       {pod: corev1.PodSecurityContext{SELinuxOptions: selinux}, says: "seLinuxOptions"},
		"SELinux of the container":      {container: corev1.SecurityContext{SELinuxOptions: selinux}, says: "seLinuxOptions"},
		"host process":                  {pod: corev1.PodSecurityContext{WindowsOptions: windows}, says: "hostProcess"},
		"host process of the container": {container: corev1.SecurityContext{WindowsOptions: windows}, says: "hostProcess"},
		"procMount":                     {container: corev1.SecurityContext{ProcMount: ptr.To(corev1.UnmaskedProcMount)}, says: "procMount"},
		"a sysctl":                      {pod: corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}}, says: "kernel.msgmax"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(sample().Spec(func(spec *v1alpha1.ApplicationSpec) {
				spec.PodSecurityContext, spec.SecurityContext = &test.pod, &test.container
			}).Obj())
			in.PodSecurity = test.level
			err := plan(t, in).Rendered[0].Refused
			_, reason := reconcileerror.Describe(err)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.says != "" && (err == nil || reason != v1alpha1.ReasonPodSecurityViolation || !strings.Contains(err.Error(), test.says)):
				t.Errorf("%v, want %q", err, test.says)
			case test.says != "" && !strings.Contains(err.Error(), "APPLICATION_POD_SECURITY"):
				t.Errorf("nobody is told how to mend it: %v", err)
			}
		})
	}
}
