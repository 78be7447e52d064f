package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// applyPolicy applies a file of olm/policies, and returns when the policy refuses what try does.
func applyPolicy(t *testing.T, file string, try func(context.Context) error) {
	t.Helper()
	raw, err := os.Open(filepath.Join("..", "olm", "policies", file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	for decoder := utilyaml.NewYAMLOrJSONDecoder(raw, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			break
		}
		if err := cluster.Client.Create(t.Context(), object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Cleanup(func() { _ = cluster.Client.Delete(context.Background(), object) })
	}
	testkit.Await(t, file+" works", func(ctx context.Context) error {
		if err := try(ctx); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			return errors.Join(errors.New("it does not refuse"), err)
		}
		return nil
	})
}

// as returns a client of a user that has the given rights in a namespace.
func as(t *testing.T, namespace, user string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "test-"}, Rules: rules}
	if err := cluster.Client.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := cluster.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = user
	impersonated, err := client.New(config, client.Options{Scheme: cluster.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return impersonated
}

// editor returns the rules of the editor roles in the bundle.
func editor(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	files, err := filepath.Glob("../bundles/v*/manifests/*editor-role*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		role, raw := &rbacv1.ClusterRole{}, []byte(nil)
		if raw, err = os.ReadFile(file); err == nil {
			err = yaml.Unmarshal(raw, role)
		}
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	return rules
}

func rule(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"", "apps", "cache.example.com", "app.example.com"}, Verbs: []string{verb}, Resources: []string{resource}, ResourceNames: names}
}

// check fails the test unless an error says what it should, or there is none if it should say nothing.
func check(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Errorf("refused: %v", err)
	case says != "" && (err == nil || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), says)):
		t.Errorf("%v, want %q", err, says)
	}
}

// fromSecrets adds variables with keys of Secrets.
func fromSecrets(names ...string) func(*appv1alpha1.ApplicationSpec) {
	return func(spec *appv1alpha1.ApplicationSpec) {
		for _, name := range names {
			spec.Env = append(spec.Env, appv1alpha1.EnvVar{Name: fmt.Sprintf("V%d", len(spec.Env)), ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "key"},
			}})
		}
	}
}

func TestThePolicyForWriters(t *testing.T) {
	namespace := cluster.Namespace(t)
	tenant := as(t, namespace, "tenant", editor(t)...)
	developer := as(t, namespace, "developer", append(editor(t), rule("create", "pods"), rule("get", "secrets", "known", "known-2", "known-3", "known-4", "known-5"),
		rule("get", "configmaps", "settings"))...)
	reader := as(t, namespace, "reader", append(editor(t), rule("create", "pods"), rule("get", "secrets"))...)
	operator := as(t, namespace, "the-operator", rule("patch", "memcacheds/status"), rule("patch", "applications/status"))
	autoscaler := as(t, namespace, "autoscaler", rule("get", "applications/scale"), rule("patch", "applications/scale"))
	cache := func() *testkit.Memcached { return testkit.MakeMemcached("new").Namespace(namespace).Size(1) }
	web := func() *testkit.Application { return testkit.MakeApplication("new").Namespace(namespace) }
	applyPolicy(t, "writers.yaml", func(ctx context.Context) error { return tenant.Create(ctx, web().Obj(), client.DryRunAll) })

	tls := func(name string) client.Object {
		return cache().Spec(func(s *v1alpha1.MemcachedSpec) { s.TLS = &v1alpha1.MemcachedTLS{SecretName: name} }).Obj()
	}
	auth := func(name string) client.Object {
		return cache().Spec(func(s *v1alpha1.MemcachedSpec) { s.Auth = &v1alpha1.MemcachedAuth{SecretName: name} }).Obj()
	}
	ingress := func(name string) client.Object {
		return web().Ingress("a.example.com", "/", "").Spec(func(s *appv1alpha1.ApplicationSpec) { s.Ingress.TLSSecret = name }).Obj()
	}
	config := func(name string) client.Object {
		return web().Spec(func(s *appv1alpha1.ApplicationSpec) {
			s.Env = []appv1alpha1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{
				ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "a"},
			}}, {Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
		}).Obj()
	}
	for name, test := range map[string]struct {
		by     client.Client
		object client.Object
		says   string
	}{
		"an Application by an editor":         {tenant, web().Obj(), "tenant may not create pods in the namespace " + namespace},
		"a cache by an editor":                {tenant, cache().Obj(), "tenant may not create pods in the namespace " + namespace},
		"an Application":                      {developer, web().Obj(), ""},
		"a cache":                             {developer, cache().Obj(), ""},
		"a variable from a known Secret":      {developer, web().Spec(fromSecrets("known", "known", "known-2", "known", "known")).Obj(), ""},
		"a variable from an unknown Secret":   {developer, web().Spec(fromSecrets("known", "other")).Obj(), `spec.env: developer may not get secrets "other"`},
		"a fourth Secret that is unknown":     {developer, web().Spec(fromSecrets("known", "known-2", "known-3", "other")).Obj(), `may not get secrets "other"`},
		"five Secrets":                        {developer, web().Spec(fromSecrets("known", "known-2", "known-3", "known-4", "known-5")).Obj(), "a write may name four more"},
		"four Secrets":                        {developer, web().Spec(fromSecrets("known", "known-2", "known-3", "known-4", "known")).Obj(), ""},
		"ten Secrets by somebody with all":    {reader, web().Spec(fromSecrets("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")).Obj(), ""},
		"a variable from a known ConfigMap":   {developer, config("settings"), ""},
		"a variable from another ConfigMap":   {developer, config("other"), `spec.env: developer may not get configmaps "other"`},
		"a ConfigMap, by a reader":            {reader, config("settings"), `may not get configmaps "settings"`},
		"a certificate that is known":         {developer, ingress("known"), ""},
		"a certificate that is not":           {developer, ingress("other"), `spec.ingress.tlsSecret: developer may not get secrets "other"`},
		"a cache, whose binding is no secret": {developer, web().Caches("cache").Obj(), ""},
		"a cache with a known certificate":    {developer, tls("known"), ""},
		"a cache with another certificate":    {developer, tls("other"), `spec.tls.secretName: developer may not get secrets "other"`},
		"a cache with users that are known":   {developer, auth("known"), ""},
		"a cache with other users":            {developer, auth("other"), `spec.auth.secretName: developer may not get secrets "other"`},
		"an Application by an administrator":  {cluster.Client, web().Spec(fromSecrets("a", "b", "c", "d", "e")).Obj(), ""},
	} {
		t.Run(name, func(t *testing.T) { check(t, test.by.Create(t.Context(), test.object, client.DryRunAll), test.says) })
	}

	shop := web().Caches("bank").Spec(fromSecrets("other")).Obj()
	pages := cache().Spec(func(s *v1alpha1.MemcachedSpec) {
		s.TLS, s.Auth = &v1alpha1.MemcachedTLS{SecretName: "other"}, &v1alpha1.MemcachedAuth{SecretName: "other"}
	}).Obj()
	for _, object := range []client.Object{shop, pages} {
		if err := cluster.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	const noPods, unknown = "may not create pods", "may not get secrets"
	for _, test := range []struct {
		name   string
		by     client.Client
		object client.Object
		patch  string
		says   string
	}{
		{"a label", tenant, shop, `{"metadata":{"labels":{"team":"shop"}}}`, ""},
		{"a finalizer", tenant, pages, `{"metadata":{"finalizers":["example.com/a"]}}`, ""},
		{"no finalizer", tenant, pages, `{"metadata":{"finalizers":null}}`, ""},
		{"replicas", tenant, shop, `{"spec":{"replicas":2}}`, ""},
		{"a size", tenant, pages, `{"spec":{"size":2}}`, ""},
		{"an ingress", tenant, shop, `{"spec":{"ingress":{"host":"a.example.com"}}}`, ""},
		{"an approval", tenant, pages, `{"spec":{"updates":{"release":"abc"}}}`, ""},
		{"an image", tenant, shop, `{"spec":{"image":"evil"}}`, noPods},
		{"a field less", tenant, shop, `{"spec":{"caches":null}}`, noPods},
		{"an image with a size", tenant, pages, `{"spec":{"size":1,"image":"evil"}}`, noPods},
		{"an image beside a Secret that stays", developer, shop, `{"spec":{"image":"better"}}`, ""},
		{"an image of memcached beside Secrets that stay", developer, pages, `{"spec":{"image":"better"}}`, ""},
		{"a Secret less", developer, pages, `{"spec":{"auth":null}}`, ""},
		{"a Secret in another field", developer, pages, `{"spec":{"auth":{"secretName":"other"}}}`, unknown},
		{"a Secret that is another one", developer, pages, `{"spec":{"tls":{"secretName":"third"}}}`, unknown},
		{"a certificate that other fields name", tenant, shop, `{"spec":{"ingress":{"host":"a.example.com","tlsSecret":"other"}}}`, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			copied := test.object.DeepCopyObject().(client.Object)
			check(t, test.by.Patch(t.Context(), copied, client.RawPatch("application/merge-patch+json", []byte(test.patch))), test.says)
		})
	}
	status := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":1}}`))
	check(t, operator.Status().Patch(t.Context(), shop.DeepCopy(), status), "")
	check(t, operator.Status().Patch(t.Context(), pages.DeepCopy(), status), "")
	scale := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))
	check(t, autoscaler.SubResource("scale").Patch(t.Context(), shop.DeepCopy(), scale), "")
	check(t, tenant.Delete(t.Context(), shop), "")
	check(t, tenant.Delete(t.Context(), pages), "")
}
