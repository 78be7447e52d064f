package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/kube/owned"
)

var _ owned.Configuration = (*Monitor)(nil)

func cacheObject() *Monitor {
	memcached := testkit.MakeMemcached("sessions").Namespace("shop").Obj()
	memcached.UID = "uid-of-the-cache"
	id := owned.Identity{Name: "memcached", Instance: "sessions", Component: "cache"}
	return ServiceMonitor(Cache{
		Name: "sessions", Namespace: "shop", Labels: id.Labels(), Selector: id.Selector(),
		UserLabels: map[string]string{"release": "prometheus", owned.LabelManagedBy: "somebody-else"},
		Owner:      owned.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind)),
		Limits:     true,
	})
}

func TestTheServiceMonitorOfACache(t *testing.T) {
	object := cacheObject()
	testkit.Golden(t, "servicemonitor", object)
	want := owned.Reference{GroupVersionKind: ServiceMonitorKind, Namespace: "shop", Name: "sessions"}
	if got := owned.ReferenceTo(object); got != want {
		t.Errorf("the reference is %+v, want %+v", got, want)
	}
}

func TestTheOperatorsObjects(t *testing.T) {
	wanted, err := Operator("operators")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wanted {
		object := w.Object
		// Other tests check the embedded files.
		shorten(t, object, string(alerts), "spec", "groups")
		shorten(t, object, dashboard, "data", "memcached.json")
		testkit.Golden(t, "operator-"+object.GetKind(), map[string]any{"for": fmt.Sprint(w.For), "object": object.Object})
	}
}

// shorten replaces the value of a field, if it exists, by "...".
func shorten(t *testing.T, object *unstructured.Unstructured, file string, path ...string) {
	t.Helper()
	value, found, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	if !found {
		return
	}
	if text, ok := value.(string); ok && text != file {
		t.Errorf("%v of %s is not the file", path, object.GetKind())
	}
	if list, ok := value.([]any); ok && len(list) == 0 {
		t.Errorf("%v of %s is empty", path, object.GetKind())
	}
	if err := unstructured.SetNestedField(object.Object, "...", path...); err != nil {
		t.Fatal(err)
	}
}

func TestTheServiceMonitorOfTheOperatorSelectsTheServiceOfEveryBundle(t *testing.T) {
	bundles, err := filepath.Glob("../../../bundles/v*/manifests/*-metrics-service_v1_service.yaml")
	if err != nil || len(bundles) == 0 {
		t.Fatalf("no Service of metrics in any bundle: %v", err)
	}
	monitor := operatorMonitor("operators")
	selector, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	for _, bundle := range bundles {
		data, err := os.ReadFile(bundle)
		if err != nil {
			t.Fatal(err)
		}
		var service corev1.Service
		if err := yaml.UnmarshalStrict(data, &service); err != nil {
			t.Fatal(err)
		}
		for key, value := range selector {
			if service.Labels[key] != value {
				t.Errorf("%s has %s=%q, the ServiceMonitor selects %q", bundle, key, service.Labels[key], value)
			}
		}
		port, _, _ := unstructured.NestedString(endpoints[0].(map[string]any), "port")
		if len(selector) == 0 || service.Spec.Ports[0].Name != port {
			t.Errorf("%s has the port %q, the ServiceMonitor names %q", bundle, service.Spec.Ports[0].Name, port)
		}
	}
}

// Package apply annotates the object with a hash of these bytes. Other bytes for the same fields would be a write to every
// ServiceMonitor when the operator is upgraded. 0.4.1 adds the limits.
func TestTheBytesOfAServiceMonitorStayAsReleased(t *testing.T) {
	const released = `{"apiVersion":"monitoring.coreos.com/v1","kind":"ServiceMonitor","metadata":{` +
		`"labels":{"app.kubernetes.io/component":"cache","app.kubernetes.io/instance":"sessions",` +
		`"app.kubernetes.io/managed-by":"memcached-operator","app.kubernetes.io/name":"memcached",` +
		`"app.kubernetes.io/part-of":"sessions","release":"prometheus"},"name":"sessions","namespace":"shop",` +
		`"ownerReferences":[{"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached","name":"sessions",` +
		`"uid":"uid-of-the-cache","controller":true,"blockOwnerDeletion":true}]},"spec":{"bodySizeLimit":"2MiB","endpoints":[{"port":"metrics",` +
		`"relabelings":[{"action":"replace","replacement":"sessions","targetLabel":"memcached"}]}],"labelLimit":64,` +
		`"labelNameLengthLimit":256,"labelValueLengthLimit":1024,"sampleLimit":6000,"selector":{"matchLabels":{` +
		`"app.kubernetes.io/instance":"sessions","app.kubernetes.io/managed-by":"memcached-operator",` +
		`"app.kubernetes.io/name":"memcached"}}}}`
	raw, err := json.Marshal(cacheObject())
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != released {
		t.Errorf("the bytes are\n%s\nwant\n%s", raw, released)
	}
}
