package diff_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

const released = "docker.io/library/memcached@sha256:1111111111111111111111111111111111111111111111111111111111111111"

// wantedTemplate returns the template in the golden file of the desired state.
func wantedTemplate(t *testing.T) *corev1.PodTemplateSpec {
	t.Helper()
	raw, err := os.ReadFile("../../desired/testdata/three-nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Present []struct {
			Spec struct {
				Template *corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
	}
	if err := yaml.Unmarshal(raw, &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Present[1].Spec.Template // After its record.
}

// storedTemplate returns the same template as the API server stores it. k8s.io/kubernetes v1.36.3 wrote it, with its defaults.
func storedTemplate(t *testing.T) *corev1.PodTemplateSpec {
	t.Helper()
	raw, err := os.ReadFile("testdata/stored.yaml")
	if err != nil {
		t.Fatal(err)
	}
	template := &corev1.PodTemplateSpec{}
	if err := yaml.UnmarshalStrict(raw, template); err != nil {
		t.Fatal(err)
	}
	return template
}

func read(t *testing.T, template *corev1.PodTemplateSpec) diff.State {
	t.Helper()
	state, err := diff.Read(diff.Deployment, template)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestReadTheReleasedTemplate(t *testing.T) {
	got := read(t, storedTemplate(t))
	labels := map[string]string{
		"app.kubernetes.io/component":  "cache",
		"app.kubernetes.io/instance":   "example-memcached",
		"app.kubernetes.io/managed-by": "memcached-operator",
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/part-of":    "example-memcached",
	}
	want := diff.State{
		Workload: diff.Deployment,
		Image:    released,
		Command:  []string{"memcached"},
		Arguments: args.Arguments{
			CacheMemory: 64, MaxConnections: 1024, MaxItemSize: 1 << 20, Threads: 4, Port: 11211, MinItemSpace: 48, GrowthFactor: "1.25",
		},
		Resources: diff.Resources{CPURequest: 50, CPULimit: 1000, MemoryRequest: 128 << 20, MemoryLimit: 128 << 20},
		Scheduling: diff.Scheduling{TopologySpread: []string{
			`{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":` +
				`{"app.kubernetes.io/instance":"example-memcached","app.kubernetes.io/managed-by":"memcached-operator","app.kubernetes.io/name":"memcached"}}}`,
		}},
		Labels: labels,
	}
	rest := got.Rest
	got.Rest = nil
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the state differs (-want +got):\n%s", difference)
	}
	for path, value := range map[string]string{
		"spec.enableServiceLinks":                                             "false",
		"spec.containers[memcached].livenessProbe.failureThreshold":           "6",
		"spec.containers[memcached].ports[memcached].containerPort":           "11211",
		"spec.containers[memcached].securityContext.capabilities.drop[0]":     "ALL",
		"spec.containers[memcached].securityContext.readOnlyRootFilesystem":   "true",
		"spec.containers[memcached].readinessProbe.tcpSocket.port":            "memcached",
		"spec.securityContext.runAsUser":                                      "11211",
		"spec.containers[memcached].readinessProbe.initialDelaySeconds":       "1",
		"spec.containers[memcached].securityContext.allowPrivilegeEscalation": "false",
	} {
		if rest[path] != value {
			t.Errorf("the rest has %q at %s, want %q", rest[path], path, value)
		}
	}
}

// Defaults of the API server are no change. Otherwise every cache would have a pending change.
func TestDefaultsOfTheAPIServerAreNoChange(t *testing.T) {
	changes, class := diff.Compare(read(t, storedTemplate(t)), read(t, wantedTemplate(t)), inputs.Features{})
	if len(changes) > 0 || class != diff.None {
		t.Errorf("got %s %+v, want no change", class, changes)
	}
}

func TestReadDoesNotChangeTheTemplate(t *testing.T) {
	template := everything()
	before := template.DeepCopy()
	read(t, template)
	if difference := cmp.Diff(before, template); difference != "" {
		t.Errorf("Read changed its input (-before +after):\n%s", difference)
	}
}

// Each edit changes a template that has something in every part, so the test shows which field Read puts the part in.
func TestReadCoversEveryPart(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*corev1.PodTemplateSpec)
		want []string
	}{
		"nothing": {func(*corev1.PodTemplateSpec) {}, nil},
		"the annotation of kubectl rollout restart": {func(p *corev1.PodTemplateSpec) {
			p.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-01-01T00:00:00Z"
		}, []string{"annotations"}},
		"the image":         {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "memcached:latest" }, []string{"image"}},
		"the agent's image": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[1].Image = "agent:2" }, []string{"agentImage"}},
		"the agent's arguments": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[1].Args = []string{"agent", "--more"} },
			[]string{"template.spec.containers[agent].args[1]"}},
		"the agent's memory": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[1].Resources.Limits = memory("64Mi") },
			[]string{"template.spec.containers[agent].resources.limits.memory"}},
		"the agent is removed": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers = p.Spec.Containers[:1] },
			[]string{"agentImage", "template.spec.containers[agent].args[0]", "template.spec.containers[agent].name",
				"template.spec.containers[agent].resources.limits.memory"}},
		"an argument": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args[1] = "100" }, []string{"arguments.cacheMemory"}},
		"the Secret of the certificate": {func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[0].Secret.SecretName = "other" },
			[]string{"certificates.secret"}},
		"the Secret of the users": {func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[1].Secret.SecretName = "other" }, []string{"users.secret"}},
		"the volume of the items": {func(p *corev1.PodTemplateSpec) { *p.Spec.Volumes[2].EmptyDir.SizeLimit = quantity("1Gi") },
			[]string{"volumeSize"}},
		"a volume whose certificate has another source": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		}, []string{"certificates.secret", "template.spec.volumes[certificates].emptyDir", "template.spec.volumes[certificates].secret"}},
		"another volume with a Secret": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "more", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "more"}}})
		}, []string{"template.spec.volumes[more].name", "template.spec.volumes[more].secret.secretName"}},
		"another volume with a size": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "more", VolumeSource: corev1.VolumeSource{EmptyDir: p.Spec.Volumes[2].EmptyDir}})
		}, []string{"template.spec.volumes[more].emptyDir.medium", "template.spec.volumes[more].emptyDir.sizeLimit", "template.spec.volumes[more].name"}},
		"another medium": {func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[2].EmptyDir.Medium = "" },
			[]string{"template.spec.volumes[cache].emptyDir", "template.spec.volumes[cache].emptyDir.medium"}},
		"the memory limit": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = memory("1Gi") },
			[]string{"resources.limits.memory"}},
		"the tolerations":   {func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations[0].Key = "other" }, []string{"scheduling.tolerations"}},
		"the node selector": {func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector["disk"] = "none" }, []string{"scheduling.nodeSelector"}},
		"the affinity":      {func(p *corev1.PodTemplateSpec) { p.Spec.Affinity = nil }, []string{"scheduling.affinity"}},
		"the priority":      {func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = "high" }, []string{"scheduling.priorityClass"}},
		"a label":           {func(p *corev1.PodTemplateSpec) { p.Labels["more"] = "yes" }, []string{"labels"}},
		"an annotation":     {func(p *corev1.PodTemplateSpec) { p.Annotations["more"] = "yes" }, []string{"annotations"}},
		"a probe": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].LivenessProbe.PeriodSeconds = 30 },
			[]string{"template.spec.containers[memcached].livenessProbe.periodSeconds"}},
	} {
		t.Run(name, func(t *testing.T) {
			edited := everything()
			c.edit(edited)
			changes, _ := diff.Compare(read(t, everything()), read(t, edited), inputs.Features{})
			var got []string
			for _, one := range changes {
				got = append(got, one.Field)
			}
			if difference := cmp.Diff(c.want, got); difference != "" {
				t.Errorf("the changed fields differ (-want +got):\n%s", difference)
			}
		})
	}
}

// Kubernetes sets the pull policy of a container that has none, by its image.
func TestTheDefaultPullPolicyIsNoChange(t *testing.T) {
	for image, policy := range map[string]corev1.PullPolicy{
		"memcached": corev1.PullAlways, "registry:5000/memcached": corev1.PullAlways, "memcached:latest": corev1.PullAlways,
		"memcached:1.6.38": corev1.PullIfNotPresent, "registry:5000/memcached:1.6.38": corev1.PullIfNotPresent, released: corev1.PullIfNotPresent,
	} {
		for stored, want := range map[corev1.PullPolicy]bool{policy: true, corev1.PullNever: false} {
			before, after := everything(), everything()
			before.Spec.Containers[0].Image, after.Spec.Containers[0].Image, after.Spec.Containers[0].ImagePullPolicy = image, image, stored
			if changes, _ := diff.Compare(read(t, before), read(t, after), inputs.Features{}); (len(changes) == 0) != want {
				t.Errorf("with image %s and pull policy %s, the changes are %+v", image, stored, changes)
			}
		}
	}
}

func TestReadFails(t *testing.T) {
	for want, edit := range map[string]func(*corev1.PodTemplateSpec){
		`the pod template has no container "memcached"`: func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Name = "other" },
		`memcached's argument -m: "much" is not a whole number`: func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Args = []string{"-m", "much"}
		},
	} {
		template := everything()
		edit(template)
		if state, err := diff.Read(diff.Deployment, template); err == nil || err.Error() != want {
			t.Errorf("got %+v and %v, want %s", state, err, want)
		}
	}
}

// Every template that a release gave a StatefulSet, rendered again with the same images, differs only in what running pods can have, or
// get when they are replaced for another reason.
func TestNoTemplateOfAReleaseNeedsAReplacement(t *testing.T) {
	released, err := filepath.Glob("../../desired/testdata/released/pods-*/*.yaml")
	if err != nil || len(released) < 9 {
		t.Fatalf("found %v, %v", released, err)
	}
	for _, path := range released {
		t.Run(strings.TrimPrefix(path, "../../desired/testdata/released/"), func(t *testing.T) {
			var states [2]diff.State
			for i, file := range []string{path, filepath.Join("../../desired/pod/testdata", filepath.Base(path))} {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				template := &corev1.PodTemplateSpec{}
				if err := yaml.Unmarshal(raw, template); err != nil {
					t.Fatal(err)
				}
				if states[i], err = diff.Read(diff.StatefulSet, template); err != nil {
					t.Fatal(err)
				}
			}
			changes, class := diff.Compare(states[0], states[1], inputs.Features{Resize: true, Shrink: true})
			if class.Worse(diff.Live) {
				t.Errorf("an upgrade would change %+v", changes)
			}
		})
	}
}

// What running pods can do without never waits for approval, and replaces no pod of a StatefulSet.
func TestWhatPodsGetWhenTheyAreReplaced(t *testing.T) {
	for path, want := range map[string]diff.Class{
		"spec.containers[memcached].livenessProbe.periodSeconds": diff.NextReplacement,
		"spec.containers[memcached].startupProbe.periodSeconds":  diff.NextReplacement,
		"spec.containers[memcached].env[A].value":                diff.NextReplacement,
		"spec.containers[memcached].lifecycle.preStop":           diff.NextReplacement,
		"spec.containers[agent].resources.limits.memory":         diff.NextReplacement,
		"spec.containers[agent].args[1]":                         diff.Cold,
		"spec.containers[memcached].securityContext.runAsUser":   diff.Cold,
		"spec.containers[memcached].resources.limits.hugepages":  diff.Cold,
		"spec.containers[other].env[A].value":                    diff.Cold,
		"spec.environment":                                       diff.Cold,
	} {
		for workload, wanted := range map[diff.Workload]diff.Class{diff.StatefulSet: want, diff.Deployment: diff.Cold} {
			after := state(workload)
			after.Rest = map[string]string{"spec.restartPolicy": "Always", path: "new"}
			if _, class := diff.Compare(state(workload), after, inputs.Features{}); class != wanted {
				t.Errorf("in a %s, %s is %q, want %q", workload, path, class, wanted)
			}
		}
	}
}
