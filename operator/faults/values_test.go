//go:build faults

package faults_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// field is a field of a spec, with values that users may give it.
type field struct {
	path string // As in the documentation.
	good []value
	bad  []value
}

// value is one value of a field.
type value struct {
	spec string // What it changes in the spec: YAML of a merge patch.

	// shows is a regular expression for the YAML of an object that the operator owns. No object matches it before. Empty if the value is
	// for the operator itself.
	shows string

	// says is a part of the message with which a bad value is refused, by the API server or in a condition. A good value has it if the
	// operator does what it asks for, and all the same says what is missing.
	says string
}

// memcachedFields are all fields of a Memcached.
var memcachedFields = []field{
	{"size", []value{
		{spec: `size: 0`, shows: `\n  replicas: 0\n`}, {spec: `size: 1`, shows: `\n  replicas: 1\n`}, {spec: `size: 4`, shows: `\n  replicas: 4\n`},
	}, []value{{spec: `size: -1`, says: "greater than or equal to 0"}, {spec: `size: 1001`, says: "1000"}, {spec: `size: null`, says: "spec.size: Required"}, {spec: `size: two`, says: "spec.size"}}},
	{"workload", nil, []value{{spec: `workload: DaemonSet`, says: `spec.workload: Unsupported value: "DaemonSet"`}}},
	{"version", []value{
		{spec: `version: 1.6.45`, shows: newImage}, {spec: `version: 1.6.18`},
	}, []value{{spec: `version: 9.9.9`, says: "9.9.9"}, {spec: `version: "1.6"`, says: "three numbers"}, {spec: `version: latest`, says: "three numbers"}}},
	{"image", []value{
		{spec: `image: registry.example.com/memcached:1`, shows: `image: registry.example.com/memcached:1\n`},
		{spec: `{image: registry.example.com/memcached:1, version: 1.6.30}`, shows: `image: registry.example.com/memcached:1\n`},
	}, []value{{spec: `image: ""`, says: "spec.image"}, {spec: `image: "a b"`, says: "spaces"}}},
	{"resources", []value{
		{spec: `resources: {limits: {memory: 256Mi}}`, shows: `memory: 256Mi`}, {spec: `resources: {requests: {cpu: 100m}}`, shows: `cpu: 100m`},
		{spec: `resources: {limits: {cpu: "2"}}`, shows: `cpu: "2"`}, {spec: `resources: {limits: {cpu: 20m}}`, shows: `cpu: 20m`},
		{spec: `resources: {requests: {memory: 96Mi}}`, shows: `memory: 96Mi`}, {spec: `resources: {requests: {ephemeral-storage: 10Mi}}`, shows: `ephemeral-storage: 10Mi`},
	}, []value{
		{spec: `resources: {limits: {memory: 1Mi}}`, says: "memory"}, {spec: `resources: {limits: {memory: much}}`, says: "spec.resources.limits.memory"},
		{spec: `resources: {requests: {memory: 1Gi}, limits: {memory: 256Mi}}`, says: "request"}, {spec: `resources: {requests: {cpu: -1}}`, says: "cpu"},
		{spec: `resources: {requests: {cpu: "2"}, limits: {cpu: "1"}}`, says: "request"},
		{spec: `resources: {claims: [{name: gpu}]}`, says: "claims"},
	}},
	{"cacheMemory", []value{
		{spec: `cacheMemory: 32Mi`, shows: `- -m\s+- "32"`}, {spec: `cacheMemory: 20.5Mi`, shows: `- -m\s+- "20"`}, {spec: `cacheMemory: 8Mi`, shows: `- -m\s+- "8"`}, {spec: `cacheMemory: 33554432`, shows: `- -m\s+- "32"`},
	}, []value{
		{spec: `cacheMemory: 1Gi`, says: "cacheMemory"}, {spec: `cacheMemory: 7Mi`, says: "cacheMemory"}, {spec: `cacheMemory: 33Ki`, says: "cacheMemory"},
		{spec: `cacheMemory: -8Mi`, says: "cacheMemory"}, {spec: `cacheMemory: all`, says: "spec.cacheMemory"},
	}},
	{"maxConnections", []value{
		{spec: `maxConnections: 64`, shows: `- -c\s+- "64"`}, {spec: `maxConnections: 2048`, shows: `- -c\s+- "2048"`},
	}, []value{
		{spec: `maxConnections: 63`, says: "from 64 to 65536"}, {spec: `maxConnections: 65537`, says: "from 64 to 65536"}, {spec: `maxConnections: 65536`, says: "memory"},
	}},
	{"maxItemSize", []value{
		{spec: `maxItemSize: 512Ki`, shows: `- -I\s+- "524288"`}, {spec: `maxItemSize: 2Mi`, shows: `- -I\s+- "2097152"`},
	}, []value{
		{spec: `maxItemSize: 100Ki`, says: "maxItemSize"}, {spec: `maxItemSize: 2Gi`, says: "maxItemSize"}, {spec: `maxItemSize: 600Ki`, says: "maxItemSize"},
		{spec: `maxItemSize: 100Mi`, says: "maxItemSize"},
	}},
	{"threads", []value{
		{spec: `threads: 1`, shows: `- -t\s+- "1"`}, {spec: `threads: 8`, shows: `- -t\s+- "8"`},
	}, []value{{spec: `threads: 0`, says: "from 1 to 64"}, {spec: `threads: 65`, says: "from 1 to 64"}, {spec: `threads: 1.5`, says: "spec.threads"}}},
	{"extraArgs", []value{
		{spec: `extraArgs: ["-o", "no_lru_crawler"]`, shows: `- -o\s+- no_lru_crawler`}, {spec: `extraArgs: [-v]`, shows: `- -v\n`}, {spec: `extraArgs: ["--disable-dumping"]`, shows: `disable-dumping`},
	}, []value{
		{spec: `extraArgs: ["-m", "64"]`, says: "cacheMemory"}, {spec: `extraArgs: [""]`, says: "spec.extraArgs"}, {spec: `extraArgs: ["64"]`, says: `"64"`},
		{spec: `extraArgs: ["-p", "1"]`, says: "-p"}, {spec: `extraArgs: ["-d"]`, says: "-d"}, {spec: `extraArgs: ["-o"]`, says: "-o"},
	}},
	{"warmRestart", []value{{spec: `warmRestart: false`}}, []value{{spec: `warmRestart: maybe`, says: "spec.warmRestart"}}},
	{"updates.policy", []value{{spec: `updates: {policy: Automatic}`}, {spec: `updates: {policy: OnRelease}`}}, []value{{spec: `updates: {policy: Never}`, says: `spec.updates.policy: Unsupported value: "Never"`}}},
	{"updates.release", []value{{spec: `updates: {release: abc}`}}, []value{{spec: `updates: {release: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}`, says: "spec.updates.release"}}},
	{"tls.secretName", []value{{spec: `tls: {secretName: tls}`, shows: `secretName: tls\n`}}, []value{
		{spec: `tls: {secretName: missing}`, says: "missing"}, {spec: `tls: {secretName: Upper}`, says: "lower-case"}, {spec: `tls: {}`, says: "spec.tls.secretName: Required"},
		{spec: `tls: {secretName: users}`, says: "users"}, {spec: `tls: {secretName: expired}`, says: "expired"},
	}},
	{"tls.clientCertificates", []value{
		{spec: `tls: {secretName: tls, clientCertificates: Required}`, shows: `ssl_verify_mode=2`}, {spec: `tls: {secretName: tls, clientCertificates: Optional}`, shows: `ssl_verify_mode=1`},
	}, []value{{spec: `tls: {secretName: tls, clientCertificates: Never}`, says: "spec.tls.clientCertificates"}}},
	{"auth.secretName", []value{{spec: `auth: {secretName: users}`, shows: `secretName: users\n`}}, []value{
		{spec: `auth: {secretName: missing}`, says: "missing"}, {spec: `auth: {secretName: ""}`, says: "spec.auth.secretName"}, {spec: `auth: {secretName: tls}`, says: "users"},
	}},
	{"service.type", []value{
		{spec: `service: {type: ClusterIP}`}, {spec: `service: {type: NodePort}`, shows: `type: NodePort`}, {spec: `service: {type: LoadBalancer}`, shows: `type: LoadBalancer`},
	}, []value{{spec: `service: {type: ExternalName}`, says: "spec.service.type"}}},
	{"service.annotations", []value{{spec: `service: {annotations: {example.com/internal: "yes"}}`, shows: `example.com/internal: "yes"`}}, []value{
		{spec: `service: {annotations: {cache.example.com/mine: "yes"}}`, says: "cache.example.com"}, {spec: `service: {annotations: {"a b": "yes"}}`, says: "a b"},
	}},
	{"topologySpread.preset", []value{
		{spec: `topologySpread: {preset: RequireHosts}`, shows: `topologyKey: kubernetes.io/hostname\s+whenUnsatisfiable: DoNotSchedule`},
		{spec: `topologySpread: {preset: RequireZones}`, shows: `topologyKey: topology.kubernetes.io/zone\s+whenUnsatisfiable: DoNotSchedule`},
		{spec: `topologySpread: {preset: PreferZones}`, shows: `topologyKey: topology.kubernetes.io/zone\s+whenUnsatisfiable: ScheduleAnyway`},
		{spec: `topologySpread: {preset: PreferHosts}`}, {spec: `topologySpread: {preset: None}`},
	}, []value{{spec: `topologySpread: {preset: Spread}`, says: "spec.topologySpread.preset"}, {spec: `topologySpread: {}`, says: "either preset or constraints"}}},
	{"topologySpread.constraints", []value{
		{spec: `topologySpread: {constraints: [{maxSkew: 3, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]}`, shows: `maxSkew: 3`},
	}, []value{
		{spec: `topologySpread: {constraints: []}`, says: "spec.topologySpread.constraints"},
		{spec: `topologySpread: {constraints: [{maxSkew: 0, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]}`, says: "maxSkew"},
		{spec: `topologySpread: {preset: None, constraints: [{maxSkew: 3, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]}`, says: "either preset or constraints"},
	}},
	{"affinity", []value{
		{spec: `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, podAffinityTerm: {topologyKey: rack}}]}}`, shows: `weight: 7`},
		{spec: `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}}`, shows: `key: disk`},
	}, []value{
		{spec: `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, podAffinityTerm: {topologyKey: rack}}]}}`, says: "weight"},
		{spec: `affinity: none`, says: "spec.affinity"},
	}},
	{"tolerations", []value{{spec: `tolerations: [{key: dedicated, operator: Exists}]`, shows: `key: dedicated`}, {spec: `tolerations: [{key: dedicated, value: cache, effect: NoSchedule}]`, shows: `value: cache`}}, []value{
		{spec: `tolerations: [{key: dedicated, operator: Like}]`, says: "Like"}, {spec: `tolerations: [{effect: Never, operator: Exists}]`, says: "Never"},
	}},
	{"nodeSelector", []value{{spec: `nodeSelector: {disk: ssd}`, shows: `disk: ssd`}}, []value{{spec: `nodeSelector: {"disk of": ssd}`, says: "disk of"}, {spec: `nodeSelector: {disk: "s s d"}`, says: "s s d"}}},
	{"priorityClassName", []value{{spec: `priorityClassName: system-node-critical`, shows: `priorityClassName: system-node-critical`}}, []value{
		{spec: `priorityClassName: ""`, says: "spec.priorityClassName"}, {spec: `priorityClassName: "Not a name"`, says: "Not a name"},
	}},
	{"disruption.maxUnavailable", []value{
		{spec: `disruption: {maxUnavailable: 3}`, shows: `maxUnavailable: 3`}, {spec: `disruption: {maxUnavailable: 50%}`, shows: `maxUnavailable: 50%`}, {spec: `disruption: {}`, shows: ""},
	}, []value{{spec: `disruption: {maxUnavailable: 0}`, says: "from 1 on"}, {spec: `disruption: {maxUnavailable: 0%}`, says: "from 1 on"}, {spec: `disruption: {maxUnavailable: all}`, says: "from 1 on"}}},
	{"networkPolicy.clients", []value{
		{spec: `networkPolicy: {clients: [{podSelector: {matchLabels: {role: web}}}]}`, shows: `role: web`},
		{spec: `networkPolicy: {clients: [{ipBlock: {cidr: 192.0.2.0/24}}]}`, shows: `cidr: 192.0.2.0/24`}, {spec: `networkPolicy: {}`},
	}, []value{{spec: `networkPolicy: {clients: [{ipBlock: {cidr: everywhere}}]}`, says: "everywhere"}, {spec: `networkPolicy: {clients: [{}]}`, says: "must specify a peer"}}},
	{"podLabels", []value{{spec: `podLabels: {team: shop}`, shows: `team: shop`}}, []value{
		{spec: `podLabels: {app.kubernetes.io/name: mine}`, says: "podLabels must not have"}, {spec: `podLabels: {team: "the shop"}`, says: "the shop"}, {spec: `podLabels: {"the team": shop}`, says: "the team"},
	}},
	{"podAnnotations", []value{{spec: `podAnnotations: {example.com/team: the shop}`, shows: `example.com/team: the shop`}}, []value{
		{spec: `podAnnotations: {cache.example.com/mine: x}`, says: "podAnnotations must not have"}, {spec: `podAnnotations: {"the team": shop}`, says: "the team"},
	}},
}

// statefulSetFields are those that a cache with a StatefulSet has in addition.
var statefulSetFields = []field{
	{"workload", []value{{spec: `workload: Deployment`, shows: `kind: Deployment`}}, nil},
	{"service", []value{{spec: `service: null`}}, nil},
	{"disruption", []value{{spec: `disruption: null`}}, nil},
	{"networkPolicy", []value{{spec: `networkPolicy: null`}}, nil},
	{"warmRestart", []value{{spec: `warmRestart: true`, shows: `- -e\n`}}, []value{{spec: `{warmRestart: true, cacheMemory: 16Mi}`, says: "cacheMemory"}}},
	{"monitoring.labels", []value{{spec: `monitoring: {}`}, {spec: `monitoring: {labels: {release: prometheus}}`}}, []value{{spec: `monitoring: {labels: {a: 1}}`, says: "spec.monitoring.labels"}}},
	{"hitRatioGate.recoveredPercent", []value{{spec: `hitRatioGate: {recoveredPercent: 50}`}, {spec: `hitRatioGate: {}`}}, []value{
		{spec: `hitRatioGate: {recoveredPercent: 0}`, says: "from 1 to 100"}, {spec: `hitRatioGate: {recoveredPercent: 101}`, says: "from 1 to 100"},
	}},
	{"hitRatioGate.timeout", []value{{spec: `hitRatioGate: {timeout: 1m}`}}, []value{
		{spec: `hitRatioGate: {timeout: 0s}`, says: "from 1s to 24h"}, {spec: `hitRatioGate: {timeout: 25h}`, says: "from 1s to 24h"}, {spec: `hitRatioGate: {timeout: soon}`, says: "spec.hitRatioGate.timeout"},
	}},
}

// deploymentFields are those that a cache with a Deployment has in addition.
var deploymentFields = []field{
	{"workload", []value{{spec: `workload: StatefulSet`, shows: `kind: StatefulSet`}}, nil},
	{"warmRestart", nil, []value{{spec: `warmRestart: true`, says: "warmRestart"}}},
	{"monitoring.labels", []value{{spec: `monitoring: {}`, shows: `name: agent\n`}, {spec: `monitoring: {labels: {release: prometheus}}`, shows: `name: agent\n`}}, []value{{spec: `monitoring: {labels: {a: 1}}`, says: "spec.monitoring.labels"}}},
	{"hitRatioGate", nil, []value{{spec: `hitRatioGate: {}`, says: "hitRatioGate"}}},
}

// applicationFields are all fields of an Application.
var applicationFields = []field{
	{"image", []value{{spec: `image: registry.example.com/web:2`, shows: `image: registry.example.com/web:2\n`}}, []value{
		{spec: `image: ""`, says: "spec.image"}, {spec: `image: null`, says: "spec.image: Required"}, {spec: `image: "a b"`, says: "spaces"},
	}},
	{"replicas", []value{{spec: `replicas: 0`, shows: `\n  replicas: 0\n`}, {spec: `replicas: 4`, shows: `\n  replicas: 4\n`}}, []value{
		{spec: `replicas: -1`, says: "spec.replicas"}, {spec: `replicas: 1001`, says: "1000"}, {spec: `replicas: two`, says: "spec.replicas"},
	}},
	{"port", []value{{spec: `port: 9090`, shows: `containerPort: 9090`}, {spec: `port: 65535`, shows: `containerPort: 65535`}}, []value{{spec: `port: 0`, says: "port"}, {spec: `port: 65536`, says: "from 1 to 65535"}}},
	{"env.value", []value{
		{spec: `env: [{name: COLOUR, value: blue}]`, shows: `name: COLOUR\s+value: blue`}, {spec: `env: [{name: A, value: x}, {name: B, value: $(A)}]`, shows: `value: \$\(A\)`}, {spec: `env: [{name: EMPTY}]`, shows: `name: EMPTY`},
	}, []value{
		{spec: `env: [{name: 1ST, value: x}]`, says: "no digit first"}, {spec: `env: [{name: A}, {name: A}]`, says: "env"}, {spec: `env: [{name: MEMCACHED_SERVERS, value: x}]`, says: "MEMCACHED_SERVERS"},
	}},
	{"env.valueFrom", []value{
		{spec: `env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]`, shows: `fieldPath: spec.nodeName`},
		{spec: `env: [{name: KEY, valueFrom: {secretKeyRef: {name: keys, key: key, optional: true}}}]`, shows: `secretKeyRef:`},
	}, []value{
		{spec: `env: [{name: NODE, value: x, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]`, says: "either value or valueFrom"},
		{spec: `env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.everything}}}]`, says: "spec.everything"},
	}},
	{"resources", []value{{spec: `resources: {limits: {memory: 200Mi}}`, shows: `memory: 200Mi`}, {spec: `resources: {requests: {cpu: 30m}}`, shows: `cpu: 30m`}}, []value{
		{spec: `resources: {requests: {memory: 1Gi}, limits: {memory: 1Mi}}`, says: "must be less than or equal to memory limit"}, {spec: `resources: {limits: {memory: -1Mi}}`, says: "memory"},
	}},
	{"podSecurityContext", []value{{spec: `podSecurityContext: {runAsUser: 1000}`, shows: `runAsUser: 1000`}, {spec: `podSecurityContext: {fsGroup: 2000}`, shows: `fsGroup: 2000`}}, []value{
		{spec: `podSecurityContext: {runAsUser: -1}`, says: "runAsUser"}, {spec: `podSecurityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}`, says: "sysctl"},
	}},
	{"securityContext", []value{{spec: `securityContext: {runAsGroup: 3000}`, shows: `runAsGroup: 3000`}}, []value{
		{spec: `securityContext: {privileged: true, allowPrivilegeEscalation: true}`, says: "privileged"}, {spec: `securityContext: {capabilities: {add: [SYS_ADMIN]}}`, says: "SYS_ADMIN"},
	}},
	{"ingress.host", []value{{spec: `ingress: {host: other-NAMESPACE.example.com}`, shows: `host: other-`}, {spec: `ingress: {host: "*.NAMESPACE.example.com"}`, shows: `host: '\*\.`}, {spec: `ingress: null`}}, []value{
		{spec: `ingress: {host: "http://shop.example.com"}`, says: "no scheme"}, {spec: `ingress: {host: 192.0.2.1}`, says: "no IP address"}, {spec: `ingress: {host: null}`, says: "spec.ingress.host"},
	}},
	{"ingress.className", []value{{spec: `ingress: {className: nginx}`, shows: `ingressClassName: nginx`}}, []value{{spec: `ingress: {className: "The Class"}`, says: "className"}}},
	{"ingress.path", []value{{spec: `ingress: {path: /shop}`, shows: `path: /shop`}}, []value{{spec: `ingress: {path: shop}`, says: "must begin with"}, {spec: `ingress: {path: /shop/../x}`, says: "plain URL path"}}},
	{"ingress.tlsSecret", []value{{spec: `ingress: {tlsSecret: shop-tls}`, shows: `secretName: shop-tls`}}, []value{{spec: `ingress: {tlsSecret: "Shop"}`, says: "tlsSecret"}}},
	{"caches", []value{{spec: `caches: []`}, {spec: `caches: [{name: cache}, {name: later}]`, shows: `later`, says: "Memcached later does not exist"}}, []value{
		{spec: `caches: [{name: Cache}]`, says: "caches"}, {spec: `caches: [{name: cache}, {name: cache}]`, says: "caches"},
	}},
}

// Each field of both specs is in the tables, or the fields below it are.
func TestOperationsCoverEveryField(t *testing.T) {
	for name, test := range map[string]struct {
		spec   any
		fields []field
	}{
		"Memcached":   {v1alpha1.MemcachedSpec{}, slices.Concat(memcachedFields, statefulSetFields, deploymentFields)},
		"Application": {appv1alpha1.ApplicationSpec{}, applicationFields},
	} {
		for _, path := range paths(reflect.TypeOf(test.spec), "") {
			if !slices.ContainsFunc(test.fields, func(f field) bool { return f.path == path }) {
				t.Errorf("no value is tried for spec.%s of %s: add some to its table", path, name)
			}
		}
	}
}

// paths returns the fields of a type of ours that have no fields of ours below them. Names of list elements are no fields.
func paths(of reflect.Type, prefix string) (all []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		kind := of.Field(i).Type
		for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		switch ours := kind.Kind() == reflect.Struct && strings.HasPrefix(kind.PkgPath(), "github.com/example/"); {
		case ours && name == "":
			all = append(all, paths(kind, prefix)...)
		case ours && kind.NumField() > 1:
			all = append(all, paths(kind, prefix+name+".")...)
		case name == "name" && prefix != "":
		case ours && kind.Field(0).Tag.Get("json") != "name":
			all = append(all, paths(kind, prefix+name+".")...)
		default:
			all = append(all, prefix+name)
		}
	}
	return all
}
