package controller_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

func TestWrongManifestsAreRefusedWithAReadableMessage(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	long := strings.Repeat("a", 254)
	for name, test := range map[string]struct {
		name string
		spec any
		says []string
	}{
		"a name that is too long":    {strings.Repeat("a", 53), size(1), []string{"at most 52 characters"}},
		"a name with a dot":          {"my.cache", size(1), []string{"lower-case letters, digits and '-'", "for example my-cache-1"}},
		"a name that starts with 1":  {"1cache", size(1), []string{"begins with a letter"}},
		"a negative size":            {"cache", size(-1), []string{"spec.size", "greater than or equal to 0"}},
		"a size that is no number":   {"cache", object{"size": "three"}, []string{"spec.size", "integer"}},
		"a size that is a fraction":  {"cache", object{"size": 1.5}, []string{"spec.size", "integer"}},
		"a size beyond 32 bits":      {"cache", size(1 << 31), []string{"spec.size", "int32"}},
		"no size":                    {"cache", object{}, []string{"spec.size", "Required value"}},
		"no spec":                    {"cache", nil, []string{"spec", "Required value"}},
		"a field that is misspelled": {"cache", with("sise", 2), []string{"unknown field", "spec.sise"}},

		"an unknown workload":            {"cache", with("workload", "DaemonSet"), []string{"spec.workload", `supported values: "Deployment", "StatefulSet"`}},
		"a version of two numbers":       {"cache", with("version", "1.6"), []string{"spec.version", "must have three numbers", "for example 1.6.45"}},
		"a version with a v":             {"cache", with("version", "v1.6.45"), []string{"spec.version", "must have three numbers"}},
		"a version that is too long":     {"cache", with("version", "1.6."+strings.Repeat("1", 29)), []string{"spec.version", "32"}},
		"an empty image":                 {"cache", with("image", ""), []string{"spec.image", "at least 1 chars"}},
		"an image with a space":          {"cache", with("image", "memcached :1"), []string{"spec.image", "must not contain spaces or line breaks", "remove them"}},
		"an image with a line break":     {"cache", with("image", "memcached:1\n"), []string{"spec.image", "must not contain spaces or line breaks"}},
		"an image that is too long":      {"cache", with("image", strings.Repeat("a", 1025)), []string{"spec.image", "1024"}},
		"a quantity that is none":        {"cache", with("cacheMemory", "plenty"), []string{"spec.cacheMemory", "should match"}},
		"an item size that is none":      {"cache", with("maxItemSize", "1 Mi"), []string{"spec.maxItemSize", "should match"}},
		"a resource that is no quantity": {"cache", with("resources", object{"limits": object{"memory": "much"}}), []string{"spec.resources.limits.memory", "should match"}},
		"63 connections":                 {"cache", with("maxConnections", 63), []string{"spec.maxConnections", "choose a number from 64 to 65536"}},
		"65537 connections":              {"cache", with("maxConnections", 65537), []string{"spec.maxConnections", "choose a number from 64 to 65536"}},
		"no threads":                     {"cache", with("threads", 0), []string{"spec.threads", "choose one from 1 to 64"}},
		"65 threads":                     {"cache", with("threads", 65), []string{"spec.threads", "choose one from 1 to 64"}},
		"an empty argument":              {"cache", with("extraArgs", []any{""}), []string{"spec.extraArgs[0]", "at least 1 chars"}},
		"a very long argument":           {"cache", with("extraArgs", []any{strings.Repeat("a", 1025)}), []string{"spec.extraArgs[0]", "1024"}},
		"65 arguments":                   {"cache", with("extraArgs", repeated("-v", 65)), []string{"spec.extraArgs", "64"}},
		"arguments in one string":        {"cache", with("extraArgs", "-v -v"), []string{"spec.extraArgs", "array"}},
		"a warm restart that is a word":  {"cache", with("warmRestart", "yes"), []string{"spec.warmRestart", "boolean"}},

		"an unknown update policy":   {"cache", with("updates", object{"policy": "Never"}), []string{"spec.updates.policy", `supported values: "OnRelease", "Automatic"`}},
		"a release that is no id":    {"cache", with("updates", object{"release": strings.Repeat("a", 65)}), []string{"spec.updates.release", "64"}},
		"nothing to be recovered":    {"cache", with("hitRatioGate", object{"recoveredPercent": 0}), []string{"spec.hitRatioGate.recoveredPercent", "choose a number from 1 to 100"}},
		"more than all recovered":    {"cache", with("hitRatioGate", object{"recoveredPercent": 101}), []string{"spec.hitRatioGate.recoveredPercent", "choose a number from 1 to 100"}},
		"a timeout that is too low":  {"cache", with("hitRatioGate", object{"timeout": "999ms"}), []string{"spec.hitRatioGate.timeout", "must be a time from 1s to 24h", "for example 10m"}},
		"a timeout of two days":      {"cache", with("hitRatioGate", object{"timeout": "48h"}), []string{"spec.hitRatioGate.timeout", "must be a time from 1s to 24h"}},
		"a timeout in days":          {"cache", with("hitRatioGate", object{"timeout": "1d"}), []string{"spec.hitRatioGate.timeout", "must be a time from 1s to 24h", "for example 10m"}},
		"a timeout without a unit":   {"cache", with("hitRatioGate", object{"timeout": "600"}), []string{"spec.hitRatioGate.timeout", "must be a time from 1s to 24h"}},
		"a timeout that is a number": {"cache", with("hitRatioGate", object{"timeout": 600}), []string{"spec.hitRatioGate.timeout", "string"}},

		"TLS without a Secret":          {"cache", with("tls", object{}), []string{"spec.tls.secretName", "Required value"}},
		"TLS with a nameless Secret":    {"cache", with("tls", object{"secretName": ""}), []string{"spec.tls.secretName", "at least 1 chars"}},
		"TLS with an impossible Secret": {"cache", with("tls", object{"secretName": "My_Secret"}), []string{"spec.tls.secretName", "use lower-case letters", "for example my-cache-tls"}},
		"TLS with a Secret elsewhere":   {"cache", with("tls", object{"secretName": "other/secret"}), []string{"spec.tls.secretName", "use lower-case letters"}},
		"TLS with a very long name":     {"cache", with("tls", object{"secretName": long}), []string{"spec.tls.secretName", "253"}},
		"unknown client certificates":   {"cache", with("tls", object{"secretName": "a", "clientCertificates": "Maybe"}), []string{"spec.tls.clientCertificates", `supported values: "Required", "Optional"`}},
		"auth without a Secret":         {"cache", with("auth", object{}), []string{"spec.auth.secretName", "Required value"}},
		"auth with a nameless Secret":   {"cache", with("auth", object{"secretName": ""}), []string{"spec.auth.secretName", "at least 1 chars"}},
		"auth with impossible Secret":   {"cache", with("auth", object{"secretName": "users."}), []string{"spec.auth.secretName", "use lower-case letters", "for example my-cache-users"}},
		"auth with a very long name":    {"cache", with("auth", object{"secretName": long}), []string{"spec.auth.secretName", "253"}},
		"an unknown type of Service":    {"cache", with("service", object{"type": "ExternalName"}), []string{"spec.service.type", `supported values: "ClusterIP", "NodePort", "LoadBalancer"`}},
		"an annotation of ours":         {"cache", with("service", object{"annotations": object{"cache.example.com/a": "b"}}), []string{"spec.service.annotations", "must not have keys below cache.example.com", "rename them"}},
		"65 annotations of a Service":   {"cache", with("service", object{"annotations": many(65)}), []string{"spec.service.annotations", "64"}},

		"neither preset nor constraints":  {"cache", with("topologySpread", object{}), []string{"spec.topologySpread", "either preset or constraints", "set one of them"}},
		"both preset and constraints":     {"cache", with("topologySpread", object{"preset": "None", "constraints": constraints(1)}), []string{"spec.topologySpread", "remove the other"}},
		"an unknown preset":               {"cache", with("topologySpread", object{"preset": "Hosts"}), []string{"spec.topologySpread.preset", "supported values", `"PreferHosts"`}},
		"no constraint":                   {"cache", with("topologySpread", object{"constraints": []any{}}), []string{"spec.topologySpread.constraints", "at least 1 items"}},
		"nine constraints":                {"cache", with("topologySpread", object{"constraints": constraints(9)}), []string{"spec.topologySpread.constraints", "8"}},
		"a constraint without a topology": {"cache", with("topologySpread", object{"constraints": []any{object{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}}}), []string{"spec.topologySpread.constraints[0].topologyKey", "Required value"}},
		"an affinity that is misspelled":  {"cache", with("affinity", object{"podAnti": object{}}), []string{"unknown field", "spec.affinity.podAnti"}},
		"65 tolerations":                  {"cache", with("tolerations", repeated(object{"operator": "Exists"}, 65)), []string{"spec.tolerations", "64"}},
		"65 labels of machines":           {"cache", with("nodeSelector", many(65)), []string{"spec.nodeSelector", "64"}},
		"an empty priority class":         {"cache", with("priorityClassName", ""), []string{"spec.priorityClassName", "at least 1 chars"}},
		"a very long priority class":      {"cache", with("priorityClassName", long), []string{"spec.priorityClassName", "253"}},
		"a budget that lets none go":      {"cache", with("disruption", object{"maxUnavailable": 0}), []string{"spec.disruption.maxUnavailable", "must let at least one node go", "choose a number from 1 on"}},
		"a budget of zero percent":        {"cache", with("disruption", object{"maxUnavailable": "0%"}), []string{"spec.disruption.maxUnavailable", "must let at least one node go"}},
		"a budget of 101 percent":         {"cache", with("disruption", object{"maxUnavailable": "101%"}), []string{"spec.disruption.maxUnavailable", "1% to 100%"}},
		"a budget without a percent sign": {"cache", with("disruption", object{"maxUnavailable": "1"}), []string{"spec.disruption.maxUnavailable", "1% to 100%"}},
		"65 kinds of clients":             {"cache", with("networkPolicy", object{"clients": repeated(object{}, 65)}), []string{"spec.networkPolicy.clients", "64"}},
		"a client's range without CIDR":   {"cache", with("networkPolicy", object{"clients": []any{object{"ipBlock": object{}}}}), []string{"spec.networkPolicy.clients[0].ipBlock.cidr", "Required value"}},
		"65 labels for Prometheus":        {"cache", with("monitoring", object{"labels": many(65)}), []string{"spec.monitoring.labels", "64"}},
		"a label of the operator":         {"cache", with("podLabels", object{"app.kubernetes.io/name": "a"}), []string{"spec.podLabels", "must not have keys that the operator or Kubernetes sets", "remove those below app.kubernetes.io"}},
		"a label of the cache":            {"cache", with("podLabels", object{"cache.example.com/a": "a"}), []string{"spec.podLabels", "remove those"}},
		"a label of a Deployment":         {"cache", with("podLabels", object{"pod-template-hash": "a"}), []string{"spec.podLabels", "remove those"}},
		"a label of a StatefulSet":        {"cache", with("podLabels", object{"controller-revision-hash": "a"}), []string{"spec.podLabels", "remove those"}},
		"a label of a slot's number":      {"cache", with("podLabels", object{"apps.kubernetes.io/pod-index": "0"}), []string{"spec.podLabels", "remove those"}},
		"a label of a slot's name":        {"cache", with("podLabels", object{"statefulset.kubernetes.io/pod-name": "a"}), []string{"spec.podLabels", "remove those"}},
		"65 labels of pods":               {"cache", with("podLabels", many(65)), []string{"spec.podLabels", "64"}},
		"an annotation of the operator":   {"cache", with("podAnnotations", object{"cache.example.com/cache-memory": "1"}), []string{"spec.podAnnotations", "must not have keys below cache.example.com", "rename them"}},
		"65 annotations of pods":          {"cache", with("podAnnotations", many(65)), []string{"spec.podAnnotations", "64"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := create(t, namespace, test.name, test.spec)
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatalf("want it refused, got %v", err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestValidManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	for name, spec := range map[string]object{
		"a":                     size(0),
		"example-memcached":     size(0),
		"a1":                    size(0),
		strings.Repeat("a", 52): size(0),
		"percent":               with("disruption", object{"maxUnavailable": "100%"}),
		"percent-of-one-digit":  with("disruption", object{"maxUnavailable": "1%"}),
		"timeout-of-a-day":      with("hitRatioGate", object{"timeout": "24h", "recoveredPercent": 100}),
		"timeout-of-parts":      with("hitRatioGate", object{"timeout": "1h30m", "recoveredPercent": 1}),
		"most":                  {"size": 0, "maxConnections": 65536, "threads": 64, "extraArgs": repeated("-v", 64), "podLabels": many(64)},
		"least":                 {"size": 0, "maxConnections": 64, "threads": 1, "maxItemSize": 1024, "cacheMemory": 67108864},
		"labels-much-like-ours": with("podLabels", object{"app": "a", "kubernetes.io/app": "a", "pod-template": "a"}),
		"secret-with-dots":      with("tls", object{"secretName": "a.b-c.d"}),
		"everything":            everything(),
	} {
		if err := create(t, namespace, name, spec); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A manifest with every field is kept as it was written: nothing is dropped, and no default appears.
func TestEveryFieldIsKept(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	if err := create(t, namespace, "everything", everything()); err != nil {
		t.Fatal(err)
	}
	found := &unstructured.Unstructured{Object: object{"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached"}}
	if err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "everything"}, found); err != nil {
		t.Fatal(err)
	}
	written := cluster.Manifest(t, object{"kind": "Memcached", "spec": everything()})
	if diff := cmp.Diff(written.Object["spec"], found.Object["spec"]); diff != "" {
		t.Errorf("-written +kept:\n%s", diff)
	}
	known := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.MemcachedSpec]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			known[name] = true
		}
	}
	used := map[string]bool{}
	for name := range everything() {
		used[name] = true
	}
	if diff := cmp.Diff(known, used); diff != "" {
		t.Errorf("the manifest does not have every field, -fields +manifest:\n%s", diff)
	}
}

// everything has every field of the spec. It is for the definition alone: the operator would not take version and image.
func everything() object {
	return object{
		"size": 3, "workload": "StatefulSet", "version": "1.6.45", "image": "registry.example.com:5000/team/memcached@sha256:0",
		"resources":   object{"requests": object{"cpu": "100m", "memory": "1Gi"}, "limits": object{"memory": "1Gi"}},
		"cacheMemory": "768Mi", "maxConnections": 2048, "maxItemSize": "2Mi", "threads": 8,
		"extraArgs": []any{"-o", "no_lru_crawler"}, "warmRestart": true,
		"updates":      object{"policy": "OnRelease", "release": "3f2a9c0d"},
		"hitRatioGate": object{"recoveredPercent": 90, "timeout": "10m"},
		"tls":          object{"secretName": "cache-tls", "clientCertificates": "Required"},
		"auth":         object{"secretName": "cache-users"},
		"service":      object{"type": "LoadBalancer", "annotations": object{"example.com/internal": "true"}},
		"topologySpread": object{"constraints": []any{object{
			"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
			"labelSelector": object{"matchLabels": object{"app": "cache"}},
		}}},
		"affinity": object{"podAntiAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": []any{object{
			"topologyKey": "kubernetes.io/hostname", "labelSelector": object{"matchLabels": object{"app": "database"}},
		}}}},
		"tolerations":       []any{object{"key": "example.com/caches", "operator": "Exists", "effect": "NoSchedule"}},
		"nodeSelector":      object{"example.com/pool": "caches"},
		"priorityClassName": "high",
		"disruption":        object{"maxUnavailable": 1},
		"networkPolicy":     object{"clients": []any{object{"podSelector": object{"matchLabels": object{"app": "shop"}}}}},
		"monitoring":        object{"labels": object{"release": "prometheus"}},
		"podLabels":         object{"example.com/team": "caching"},
		"podAnnotations":    object{"example.com/note": "two\nlines"},
	}
}

// object is short for what YAML says.
type object = map[string]any

func size(size int64) object { return object{"size": size} }

// with is a spec of size 1 with one more field.
func with(field string, value any) object { return object{"size": 1, field: value} }

func repeated(value any, count int) []any {
	var list []any
	for range count {
		list = append(list, value)
	}
	return list
}

// many are labels, or annotations, that are fine but for their number.
func many(count int) object {
	all := object{}
	for i := range count {
		all[fmt.Sprintf("example.com/n%d", i)] = "x"
	}
	return all
}

func constraints(count int) []any {
	return repeated(object{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}, count)
}

// create sends what a user might have written, which Go's types would not let us write.
func create(t *testing.T, namespace, name string, spec any) error {
	t.Helper()
	manifest := object{
		"apiVersion": "cache.example.com/v1alpha1",
		"kind":       "Memcached",
		"metadata":   object{"namespace": namespace, "name": name},
	}
	if spec != nil {
		manifest["spec"] = spec
	}
	return cluster.CreateManifest(t, manifest)
}
