package controller_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// object is short for what YAML says.
type object = map[string]any

func TestWrongManifestsAreRefusedWithAReadableMessage(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	for name, test := range map[string]struct {
		name string
		spec object
		says []string
	}{
		"a name that is too long":   {name: strings.Repeat("a", 53), says: []string{"at most 52 characters"}},
		"a name with a dot":         {name: "my.shop", says: []string{"lower-case letters, digits and '-'", "for example my-shop-1"}},
		"a name that starts with 1": {name: "1shop", says: []string{"begins with a letter"}},
		"no image":                  {spec: object{"image": nil}, says: []string{"spec.image", "Required value"}},
		"an empty image":            {spec: object{"image": ""}, says: []string{"spec.image", "at least 1 chars"}},
		"an image with a space":     {spec: object{"image": "nginx "}, says: []string{"spec.image", "must not contain spaces", "remove them"}},
		"negative replicas":         {spec: object{"replicas": -1}, says: []string{"spec.replicas", "greater than or equal to 0"}},
		"port 0":                    {spec: object{"port": 0}, says: []string{"spec.port", "choose a number from 1 to 65535"}},
		"port 65536":                {spec: object{"port": 65536}, says: []string{"spec.port", "choose a number from 1 to 65535"}},
		"a port by name":            {spec: object{"port": "http"}, says: []string{"spec.port", "integer"}},
		"a variable twice": {
			spec: object{"env": []any{object{"name": "A", "value": "1"}, object{"name": "A", "value": "2"}}},
			says: []string{"spec.env[1]", "Duplicate value", `"A"`, "env must have each name once: remove one of the two"},
		},
		"a variable whose name cannot be one": {
			spec: object{"env": []any{object{"name": "A=B", "value": "1"}}}, says: []string{"spec.env[0].name", "for example LOG_LEVEL"},
		},
		"a variable with two values": {
			spec: object{"env": []any{object{"name": "A", "value": "1", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}}},
			says: []string{"spec.env[0]", "either value or valueFrom"},
		},
		"a variable without a name": {spec: object{"env": []any{object{"value": "1"}}}, says: []string{"spec.env[0].name", "Required value"}},
		"a reserved variable with caches": {
			spec: object{"caches": caches("a"), "env": []any{object{"name": "MEMCACHED_SERVERS", "value": "x"}}},
			says: []string{"env must not set MEMCACHED_SERVERS", "remove them from env, or remove caches"},
		},
		"the other reserved variable with caches": {
			spec: object{"caches": caches("a"), "env": []any{object{"name": "B"}, object{"name": "SERVICE_BINDING_ROOT", "value": "x"}}},
			says: []string{"env must not set MEMCACHED_SERVERS or SERVICE_BINDING_ROOT"},
		},
		"a cache twice":               {spec: object{"caches": caches("a", "a")}, says: []string{"spec.caches[1]", "Duplicate value", `"a"`, "caches must have each name once"}},
		"a cache that cannot exist":   {spec: object{"caches": caches("My_Cache")}, says: []string{"spec.caches[0].name", "kubectl get memcacheds"}},
		"a cache without a name":      {spec: object{"caches": []any{object{}}}, says: []string{"spec.caches[0].name", "Required value"}},
		"more caches than are mapped": {spec: object{"caches": caches(numbered(17)...)}, says: []string{"spec.caches", "16"}},
		"an ingress without a host":   {spec: object{"ingress": object{"path": "/"}}, says: []string{"spec.ingress.host", "Required value"}},
		"a host with a scheme":        {spec: ingress("http://a.example.com", nil), says: []string{"spec.ingress.host", "no scheme, port or path"}},
		"a host with a port":          {spec: ingress("a.example.com:80", nil), says: []string{"no scheme, port or path"}},
		"a host in capitals":          {spec: ingress("A.example.com", nil), says: []string{"lower-case letters"}},
		"a host with an empty label":  {spec: ingress("a..example.com", nil), says: []string{"must be a DNS name"}},
		"a star in the middle":        {spec: ingress("a.*.example.com", nil), says: []string{"or *.example.com"}},
		"an address as host":          {spec: ingress("10.0.0.1", nil), says: []string{"no IP address"}},
		"a path without a slash":      {spec: ingress("a.example.com", object{"path": "shop"}), says: []string{"spec.ingress.path", "must begin with '/'", "put one in front"}},
		"a path that climbs":          {spec: ingress("a.example.com", object{"path": "/a/../b"}), says: []string{"spec.ingress.path", "remove '//'"}},
		"a path with two slashes":     {spec: ingress("a.example.com", object{"path": "/a//b"}), says: []string{"remove '//'"}},
		"a class that cannot exist":   {spec: ingress("a.example.com", object{"className": "Nginx!"}), says: []string{"spec.ingress.className", "kubectl get ingressclasses"}},
		"a Secret that cannot exist":  {spec: ingress("a.example.com", object{"tlsSecret": "my secret"}), says: []string{"spec.ingress.tlsSecret", "for example shop-tls"}},
		"a field that is misspelled":  {spec: object{"replica": 2}, says: []string{"unknown field", "spec.replica"}},
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
		"a":                              nil,
		"a-1":                            {"replicas": 0, "port": 1},
		strings.Repeat("a", 52):          {"port": 65535},
		"reserved-variable-without-cach": {"env": []any{object{"name": "MEMCACHED_SERVERS", "value": "x"}}},
		"many-variables":                 {"env": variables(256), "caches": caches(numbered(16)...)},
		"short-host":                     ingress("localhost", nil),
		"long-host":                      ingress(strings.Repeat("a.", 126)+"a", nil),
		"wildcard-host":                  ingress("*.example.com", object{"path": "/shop/a-b_c.html", "className": "nginx", "tlsSecret": "a.b"}),
		"host-with-digits":               ingress("1.example.com", object{"path": "/"}),
	} {
		if err := create(t, namespace, name, spec); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The schema's defaults, and that it leaves an empty spec of optional things empty.
func TestDefaults(t *testing.T) {
	t.Parallel()
	namespace := cluster.Namespace(t)
	if err := create(t, namespace, "web", ingress("a.example.com", nil)); err != nil {
		t.Fatal(err)
	}
	found := &unstructured.Unstructured{Object: object{"apiVersion": "app.example.com/v1alpha1", "kind": "Application"}}
	if err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, found); err != nil {
		t.Fatal(err)
	}
	want := "map[image:nginx ingress:map[host:a.example.com path:/] port:8080 replicas:1]"
	if got := fmt.Sprint(found.Object["spec"]); got != want {
		t.Errorf("spec is %s, want %s", got, want)
	}
}

func caches(names ...string) []any {
	var list []any
	for _, name := range names {
		list = append(list, object{"name": name})
	}
	return list
}

func numbered(count int) []string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}

func variables(count int) []any {
	var list []any
	for _, name := range numbered(count) {
		list = append(list, object{"name": name, "value": strings.Repeat("x", 100)})
	}
	return list
}

func ingress(host string, more object) object {
	spec := object{"host": host}
	maps.Copy(spec, more)
	return object{"ingress": spec}
}

// create sends what a user might have written, which Go's types would not let us write. Without a name it takes one.
func create(t *testing.T, namespace, name string, more object) error {
	t.Helper()
	spec := object{"image": "nginx"}
	maps.Copy(spec, more)
	if spec["image"] == nil {
		delete(spec, "image")
	}
	metadata := object{"namespace": namespace, "generateName": "a"}
	if name != "" {
		metadata = object{"namespace": namespace, "name": name}
	}
	return cluster.CreateManifest(t, object{
		"apiVersion": "app.example.com/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec,
	})
}
