package pod_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

func request(spec v1alpha1.MemcachedSpec) pod.Request {
	return pod.Request{
		Spec:     spec,
		Identity: owned.Identity{Name: "memcached", Instance: "cache", Component: "cache"},
		Host:     "cache-nodes.default.svc",
		Images: inputs.Images{
			Memcached: map[string]string{"1.6.18": "memcached:1.6.18", "1.6.45": "memcached:1.6.45"}, Default: "1.6.45", Agent: "agent:1",
		},
	}
}

func quantity(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }

func memory(text string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
}

// The golden files show what pods are made of. A change in one of them empties the caches that it belongs to when the
// operator is upgraded and the change is released.
func TestTemplate(t *testing.T) {
	for name, spec := range map[string]v1alpha1.MemcachedSpec{
		"plain":      {},
		"slots":      {Workload: v1alpha1.WorkloadStatefulSet},
		"warm":       {Workload: v1alpha1.WorkloadStatefulSet, WarmRestart: true},
		"warm-older": {Workload: v1alpha1.WorkloadStatefulSet, WarmRestart: true, Version: "1.6.18"},
		"everything": {
			Workload: v1alpha1.WorkloadStatefulSet, Version: "1.6.18",
			Resources:   corev1.ResourceRequirements{Limits: memory("1Gi")},
			CacheMemory: quantity("512Mi"), MaxConnections: ptr.To[int32](2048), MaxItemSize: quantity("4Mi"), Threads: ptr.To[int32](8),
			ExtraArgs:  []string{"-o", "no_lru_crawler"},
			TLS:        &v1alpha1.MemcachedTLS{SecretName: "tls", ClientCertificates: v1alpha1.ClientCertificatesRequired},
			Auth:       &v1alpha1.MemcachedAuth{SecretName: "users"},
			Monitoring: &v1alpha1.MemcachedMonitoring{},
			MemcachedScheduling: v1alpha1.MemcachedScheduling{
				TopologySpread: &v1alpha1.MemcachedTopologySpread{Constraints: []corev1.TopologySpreadConstraint{
					{MaxSkew: 2, TopologyKey: "example.com/rack", WhenUnsatisfiable: corev1.DoNotSchedule},
				}},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}}}},
				}}},
				Tolerations:  []corev1.Toleration{{Key: "cache", Operator: corev1.TolerationOpExists}},
				NodeSelector: map[string]string{"pool": "cache"}, PriorityClassName: "high",
			},
			PodLabels: map[string]string{"team": "shop"}, PodAnnotations: map[string]string{"example.com/a": "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := pod.Template(request(spec))
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, name, template)
			if _, err := diff.Read(diff.StatefulSet, owned.Convert[corev1.PodTemplateSpec](template)); err != nil {
				t.Errorf("a later version of the operator could not tell what runs: %v", err)
			}
		})
	}
}

func TestPresetsOfTheSpread(t *testing.T) {
	for preset, want := range map[v1alpha1.TopologyPreset]string{
		v1alpha1.TopologyNone:         "",
		v1alpha1.TopologyPreferHosts:  "kubernetes.io/hostname ScheduleAnyway",
		v1alpha1.TopologyRequireHosts: "kubernetes.io/hostname DoNotSchedule",
		v1alpha1.TopologyPreferZones:  "topology.kubernetes.io/zone ScheduleAnyway, kubernetes.io/hostname ScheduleAnyway",
		v1alpha1.TopologyRequireZones: "topology.kubernetes.io/zone DoNotSchedule, kubernetes.io/hostname ScheduleAnyway",
	} {
		template, err := pod.Template(request(v1alpha1.MemcachedSpec{
			MemcachedScheduling: v1alpha1.MemcachedScheduling{TopologySpread: &v1alpha1.MemcachedTopologySpread{Preset: preset}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range template.Spec.TopologySpreadConstraints {
			got = append(got, *c.TopologyKey+" "+string(*c.WhenUnsatisfiable))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s is %s, want %s", preset, got, want)
		}
	}
}

func TestResourcesAreCompleted(t *testing.T) {
	cpu := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	for name, test := range map[string]struct {
		asked corev1.ResourceRequirements
		want  string // CPU request and limit, memory request and limit
	}{
		"nothing":                            {corev1.ResourceRequirements{}, "50m 1 128Mi 128Mi"},
		"a limit of memory":                  {corev1.ResourceRequirements{Limits: memory("1Gi")}, "50m 1 1Gi 1Gi"},
		"a request of memory":                {corev1.ResourceRequirements{Requests: memory("1Gi")}, "50m 1 1Gi 1Gi"},
		"a small request of memory":          {corev1.ResourceRequirements{Requests: memory("64Mi")}, "50m 1 64Mi 128Mi"},
		"both of memory":                     {corev1.ResourceRequirements{Requests: memory("96Mi"), Limits: memory("256Mi")}, "50m 1 96Mi 256Mi"},
		"a request of CPU above our limit":   {corev1.ResourceRequirements{Requests: cpu("4")}, "4 4 128Mi 128Mi"},
		"a limit of CPU below our request":   {corev1.ResourceRequirements{Limits: cpu("20m")}, "20m 20m 128Mi 128Mi"},
		"a limit of CPU, and nothing else":   {corev1.ResourceRequirements{Limits: cpu("2")}, "50m 2 128Mi 128Mi"},
		"a request of CPU, and nothing else": {corev1.ResourceRequirements{Requests: cpu("200m")}, "200m 1 128Mi 128Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := pod.Template(request(v1alpha1.MemcachedSpec{Resources: test.asked}))
			if err != nil {
				t.Fatal(err)
			}
			r := template.Spec.Containers[0].Resources
			got := r.Requests.Cpu().String() + " " + r.Limits.Cpu().String() + " " + r.Requests.Memory().String() + " " + r.Limits.Memory().String()
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestArgumentsThatFightAFieldAreRefused(t *testing.T) {
	for written, says := range map[string]string{
		"-m 64":                        "-m is set by spec.cacheMemory",
		"-vm64":                        "-vm64 is set by spec.cacheMemory",
		"--memory-limit=64":            "--memory-limit=64 is set by spec.cacheMemory",
		"--memory-l=64":                "is set by spec.cacheMemory",
		"-c 10":                        "spec.maxConnections",
		"-I 2m":                        "spec.maxItemSize",
		"-t 2":                         "spec.threads",
		"-e /x":                        "spec.warmRestart",
		"-Z":                           "spec.tls",
		"-o modern,ssl_chain_cert=x":   "options of TLS are set by spec.tls",
		"-Y /x":                        "spec.auth",
		"-p 11212":                     "clients find memcached at port 11211",
		"--listen-backlog -R -p11212":  "clients find memcached at port 11211",
		"-l 127.0.0.1":                 "probes and clients need every address",
		"-d":                           "a container ends with its first process",
		"-u root":                      "the pod says as which user memcached runs",
		"--daemon":                     "a container ends with its first process",
		"--listen=127.0.0.1":           "probes and clients need every address",
		"--enable-sasl":                "spec.auth",
		"-h":                           "print its help and end",
		"--help":                       "print its help and end",
		"-V":                           "print its version and end",
		"--version":                    "print its version and end",
		"--vers":                       "print its version and end",
		"-i":                           "print its licence and end",
		"-vi":                          "print its licence and end",
		"--license":                    "print its licence and end",
		"--lic":                        "print its licence and end",
		"-o modern,proxy_config=/x":    "would be a proxy",
		"-oproxy_arg=/x":               "would be a proxy",
		"--extended=proxy_config=/x":   "would be a proxy",
		"--ext proxy_config=/x":        "would be a proxy",
		"-o modern,ext_path=/x:1g":     "cannot keep items on disk",
		"x":                            "is not an option of memcached",
		"-o slab_reassign -- -v":       "is not an option of memcached",
		"-o no_lru_crawler -vv -R 100": "",
	} {
		_, err := pod.Template(request(v1alpha1.MemcachedSpec{
			Workload: v1alpha1.WorkloadStatefulSet, WarmRestart: true, ExtraArgs: strings.Fields(written),
		}))
		_, reason := reconcileerror.Describe(err)
		switch {
		case says == "" && err != nil:
			t.Errorf("%s is refused: %v", written, err)
		case says != "" && (err == nil || reason != v1alpha1.ReasonInvalidArguments || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v, want %q", written, err, says)
		}
	}
}

func TestWithoutItsImageTheAgentIsMissed(t *testing.T) {
	r := request(v1alpha1.MemcachedSpec{Workload: v1alpha1.WorkloadStatefulSet})
	r.Images.Agent = ""
	if _, err := pod.Template(r); err == nil || !strings.Contains(err.Error(), "AGENT_IMAGE") {
		t.Errorf("the error is %v", err)
	}
}
