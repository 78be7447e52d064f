//go:build faults

package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// operand is an object whose spec users change, field by field.
type operand struct {
	name     string // Of the operand among all.
	resource string
	object   string // The name of the object.
	spec     string // What it begins with, in YAML.
	size     string // The field with the number of pods.
	fields   []field
	beside   func(*scene) error // Creates what the spec refers to.
}

var operands = []*operand{
	{
		name: "deployment", resource: "memcacheds", object: "cache", spec: "size: 2", size: "size",
		fields: slices.Concat(memcachedFields, deploymentFields), beside: createSecrets,
	},
	{
		name: "statefulset", resource: "memcacheds", object: "cache", spec: strings.ReplaceAll(everything, "\n  ", "\n"), size: "size",
		fields: slices.Concat(memcachedFields, statefulSetFields), beside: createSecrets,
	},
	{
		name: "application", resource: "applications", object: "web", size: "replicas", fields: applicationFields, beside: createUsedCache,
		spec: "{image: 'registry.example.com/web:1', replicas: 2, ingress: {host: NAMESPACE.example.com}, caches: [{name: cache}]}",
	},
}

// createSecrets creates the Secrets that values of tls and auth name.
func createSecrets(s *scene) error {
	authority := agenttesting.NewAuthority(s)
	names := []string{"cache-nodes." + s.namespace + ".svc", "*.cache-nodes." + s.namespace + ".svc"}
	var errs []error
	for name, data := range map[string]map[string]string{
		"tls":     authority.Issue(s, time.Now().Add(24*time.Hour), names...),
		"expired": authority.Issue(s, time.Now().Add(-time.Hour), names...),
		"users":   {"users": "shop:secret\n"},
	} {
		manifest, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": name}, "stringData": data,
		})
		errs = append(errs, err, s.create(string(manifest)))
	}
	return errors.Join(errs...)
}

// createUsedCache creates the cache that an Application uses.
func createUsedCache(s *scene) error {
	s.history.Allow(1)
	return s.create("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache}\nspec: {size: 1}")
}

// with returns the spec of the operand with changes.
func (o *operand) with(s *scene, changes ...string) (spec map[string]any, err error) {
	merged, err := yaml.YAMLToJSON([]byte(s.text(o.spec)))
	for _, change := range changes {
		var patch []byte
		if err == nil {
			patch, err = yaml.YAMLToJSON([]byte(s.text(change)))
		}
		if err == nil {
			merged, err = jsonpatch.MergePatch(merged, patch)
		}
	}
	if err == nil {
		err = json.Unmarshal(merged, &spec)
	}
	return spec, err
}

// set makes a spec that of the object, which is created unless it exists.
func (o *operand) set(s *scene, spec map[string]any) error {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if s.history.Find(o.resource, o.object) == nil {
		object := s.named(o.resource, o.object)
		manifest, err := json.Marshal(map[string]any{
			"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": map[string]string{"name": o.object}, "spec": json.RawMessage(encoded),
		})
		if err != nil {
			return err
		}
		return s.create(string(manifest))
	}
	return s.patch(s.named(o.resource, o.object), replaceSpec(encoded))
}

// accepts says whether the API server would accept a spec of the object, which exists.
func (o *operand) accepts(s *scene, spec map[string]any) bool {
	encoded, err := json.Marshal(spec)
	return err == nil && cluster.Client.Patch(s.Context(), s.named(o.resource, o.object), replaceSpec(encoded), client.DryRunAll) == nil
}

func replaceSpec(encoded []byte) client.Patch {
	return client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":"/spec","value":%s}]`, encoded))
}

// pods returns how many pods a spec asks for, for O8.
func (o *operand) pods(spec map[string]any) int64 {
	size, _ := spec[o.size].(float64)
	return int64(size)
}

// message returns the message of the object's condition of that type, for the newest spec and with the status. Empty if there is none.
func (o *operand) message(s *scene, condition, status string) string {
	object := s.history.Find(o.resource, o.object)
	if object == nil {
		return ""
	}
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range all {
		c := each.(map[string]any)
		if c["type"] == condition && c["status"] == status && c["observedGeneration"] == object.GetGeneration() {
			return c["message"].(string)
		}
	}
	return ""
}
