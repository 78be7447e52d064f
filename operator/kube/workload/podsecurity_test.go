package workload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/pod-security-admission/api"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/kube/workload"
)

// templates returns the pod templates in golden files, by file.
func templates(t *testing.T, folders ...string) map[string]*corev1ac.PodTemplateSpecApplyConfiguration {
	t.Helper()
	found := map[string]*corev1ac.PodTemplateSpecApplyConfiguration{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var content struct {
				corev1ac.PodTemplateSpecApplyConfiguration
				Present []struct {
					Spec struct {
						Template *corev1ac.PodTemplateSpecApplyConfiguration
					}
				}
			}
			if err := yaml.Unmarshal(raw, &content); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if content.Spec != nil {
				found[file] = &content.PodTemplateSpecApplyConfiguration
			}
			for _, object := range content.Present {
				if object.Spec.Template != nil {
					found[file] = object.Spec.Template
				}
			}
		}
	}
	return found
}

// SECURITY.md promises it.
func TestPodsOfCachesMeetTheRestrictedStandard(t *testing.T) {
	found := templates(t, "memcached/desired/testdata", "memcached/desired/pod/testdata")
	if len(found) < 8 {
		t.Fatalf("only %d templates", len(found))
	}
	for file, template := range found {
		if err := workload.CheckPodSecurity(api.LevelRestricted, template, ""); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestPodsOfApplications(t *testing.T) {
	for file, template := range templates(t, "application/desired/testdata") {
		level := api.LevelRestricted
		switch filepath.Base(file) {
		case "open-security.yaml":
			if err := workload.CheckPodSecurity(api.LevelBaseline, template, ""); err == nil || !strings.Contains(err.Error(), "privileged") {
				t.Errorf("%s: %v", file, err)
			}
			level = api.LevelPrivileged
		default:
		}
		if err := workload.CheckPodSecurity(level, template, ""); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheErrorSaysWhatIsWrongAndHowToMendIt(t *testing.T) {
	template := corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("application").
		WithSecurityContext(corev1ac.SecurityContext().WithPrivileged(true).WithProcMount(corev1.UnmaskedProcMount))))
	err := workload.CheckPodSecurity(api.LevelBaseline, template, "mend it")
	const want = `the pods would violate the pod security standard "baseline": ` +
		`privileged (container "application" must not set securityContext.privileged=true), ` +
		`procMount (container "application" must not set securityContext.procMount to "Unmasked"); mend it. Running pods stay as they are`
	if err == nil || err.Error() != want {
		t.Errorf("the error is\n%v, want\n%s", err, want)
	}
}
