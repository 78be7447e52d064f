package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// The operator compares wanted and existing objects, and must not mistake defaults for changes.
func TestTheAPIServerAddsNoDefaultsToAServiceMonitor(t *testing.T) {
	kinds(t, true)
	memcached, wanted := serviceMonitor(t, true)
	found := wanted.DeepCopy()
	testkit.Await(t, "the ServiceMonitor is applied", func(ctx context.Context) error {
		err := cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(found), client.FieldOwner(owned.Manager))
		if apierrors.IsNotFound(err) {
			return err // The CRD is not served yet.
		}
		if err != nil {
			t.Fatal(err)
		}
		return nil
	})
	if !reflect.DeepEqual(found.Object["spec"], wanted.Object["spec"]) {
		t.Errorf("the spec became %v, want %v", found.Object["spec"], wanted.Object["spec"])
	}
	// Package apply compares in this way, with deduced types because the kind has no Go type.
	converter := managedfields.NewDeducedTypeConverter()
	left, err := converter.ObjectToTyped(found)
	if err != nil {
		t.Fatal(err)
	}
	right, err := converter.ObjectToTyped(wanted)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := left.Compare(right)
	if err != nil {
		t.Fatal(err)
	}
	if differing := comparison.Added.Union(comparison.Modified); !differing.Empty() {
		t.Errorf("these fields seem to have changed: %s", differing)
	}
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != memcached.UID {
		t.Errorf("the owner is %v", owner)
	}
}

// The CRDs of a Prometheus Operator before 0.73 lack the newest limit: a ServiceMonitor is applied without it, and gets it when the
// CRDs are upgraded.
func TestAServiceMonitorFitsTheCRDThatIsThere(t *testing.T) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(cluster.OperatorConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range []bool{true, false, true} {
		if kinds(t, true); !limits {
			removeNewestLimit(t)
		}
		testkit.Await(t, "the operator knows the fields of ServiceMonitors", func(ctx context.Context) error {
			features, err := (&inputs.FeatureReader{Discovery: discoverer, Clock: clock.RealClock{}}).Get()
			if err == nil && (!features.ServiceMonitors || features.ScrapeLimits != limits) {
				err = fmt.Errorf("the features are %+v", features)
			}
			if err != nil {
				return err
			}
			_, wanted := serviceMonitor(t, features.ScrapeLimits)
			return cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(owned.Manager))
		})
	}
}

// removeNewestLimit makes the CRD of ServiceMonitors that of an old Prometheus Operator.
func removeNewestLimit(t *testing.T) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("servicemonitors." + manifest.ServiceMonitorKind.Group)
	field := "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/" + manifest.NewestLimit
	patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op": "remove", "path": %q}]`, field))
	if err := cluster.Client.Patch(t.Context(), crd, patch); err != nil {
		t.Fatal(err)
	}
}

// serviceMonitor returns a new cache and the ServiceMonitor that the operator makes for it.
func serviceMonitor(t *testing.T, limits bool) (*v1alpha1.Memcached, *unstructured.Unstructured) {
	t.Helper()
	namespace := cluster.Namespace(t)
	memcached := testkit.MakeMemcached("sessions").Namespace(namespace).Size(1).Obj()
	if err := cluster.Client.Create(t.Context(), memcached); err != nil {
		t.Fatal(err)
	}
	id := owned.Identity{Name: "memcached", Instance: "sessions", Component: "cache"}
	configuration, err := json.Marshal(manifest.ServiceMonitor(manifest.Cache{
		Name: "sessions", Namespace: namespace, Labels: id.Labels(), Selector: id.Selector(),
		Owner:  owned.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind)),
		Limits: limits,
	}))
	wanted := &unstructured.Unstructured{}
	if err == nil {
		err = wanted.UnmarshalJSON(configuration)
	}
	if err != nil {
		t.Fatal(err)
	}
	return memcached, wanted
}
