package monitoring

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

func TestObjectsAppearWhenTheirKindsDo(t *testing.T) {
	kinds(t, false)
	s := newSuite(t)
	s.grant()
	s.start()
	s.awaitLooks("GET", "/apis/monitoring.coreos.com/v1")
	if writes := s.operator.Traffic.Count("PATCH", ""); writes > 0 {
		t.Errorf("%d writes although the cluster knows none of the kinds", writes)
	}
	kinds(t, true)
	for i, found := range s.awaitAll() {
		wanted := s.wanted()[i]
		for _, part := range []string{"spec", "data"} {
			if wanted.GetKind() != manifest.GrafanaDashboardKind.Kind && !reflect.DeepEqual(found.Object[part], wanted.Object[part]) {
				t.Errorf("%s has %s %v, want %v", wanted.GetKind(), part, found.Object[part], wanted.Object[part])
			}
		}
		if len(found.GetOwnerReferences()) > 0 {
			t.Errorf("%s has an owner, and goes with it: %v", wanted.GetKind(), found.GetOwnerReferences())
		}
	}
	for _, kind := range []string{"PrometheusRule", "ServiceMonitor", "ConfigMap", "GrafanaDashboard"} {
		if told := s.log.Lines("Created for monitoring", kind); len(told) != 1 {
			t.Errorf("%s is announced by %q", kind, told)
		}
	}
}

func TestWhatSomebodyChangesIsPutBackAndWhatTheyAddStays(t *testing.T) {
	kinds(t, true)
	s := newSuite(t)
	s.grant()
	s.start()
	all := s.awaitAll()
	rule, monitor, dashboard := all[0], all[1], all[2]
	for object, change := range map[*unstructured.Unstructured]string{
		rule:      `{"metadata": {"labels": {"release": "prometheus"}}, "spec": {"groups": []}}`,
		dashboard: `{"data": {"memcached.json": "{}", "more.json": "{}"}}`,
	} {
		if err := cluster.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.Client.Delete(t.Context(), monitor); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "all is as before, but for what is additional", func(ctx context.Context) error {
		found, err := s.get(ctx, rule)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(found.Object["spec"], s.wanted()[0].Object["spec"]) || found.GetLabels()["release"] != "prometheus" {
			return fmt.Errorf("labels are %v, spec is %.200v", found.GetLabels(), found.Object["spec"])
		}
		if found, err = s.get(ctx, dashboard); err != nil {
			return err
		}
		data, _, _ := unstructured.NestedStringMap(found.Object, "data")
		if len(data["memcached.json"]) < len("{}")+1 || data["more.json"] != "{}" {
			return fmt.Errorf("the ConfigMap has %.200v", data)
		}
		found, err = s.get(ctx, monitor)
		if err == nil && found.GetUID() == monitor.GetUID() {
			err = errors.New("the ServiceMonitor is the old one")
		}
		return err
	})
}

func TestNothingIsWrittenWhileNothingDiffers(t *testing.T) {
	kinds(t, true)
	s := newSuite(t)
	s.grant()
	s.start()
	before := s.awaitAll()
	s.awaitLooks("PATCH", "/grafanadashboards/")
	for i, now := range s.awaitAll() {
		if now.GetResourceVersion() != before[i].GetResourceVersion() {
			t.Errorf("%s was written again", now.GetKind())
		}
	}
}

func TestAnObjectOfSomebodyElseIsLeftAlone(t *testing.T) {
	kinds(t, true)
	s := newSuite(t)
	s.grant()
	foreign := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "memcached-operator-dashboard"},
		Data:       map[string]string{"mine": "yes"},
	}
	if err := cluster.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.awaitAll()
	s.awaitLooks("GET", "/configmaps/")
	found := &corev1.ConfigMap{}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), found); err != nil {
		t.Fatal(err)
	}
	if found.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("it was changed: %v", found)
	}
	if told := s.log.Lines("memcached-operator-dashboard", "ConfigMap", "left alone"); len(told) != 1 {
		t.Errorf("this is logged of it: %q", told)
	}
	if err := cluster.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the name is used now that it is free", func(ctx context.Context) error {
		object, err := s.get(ctx, s.wanted()[2])
		if err == nil && object.GetLabels()[owned.LabelManagedBy] != owned.Manager {
			err = fmt.Errorf("labels are %v", object.GetLabels())
		}
		return err
	})
}

func TestAFailureIsLoggedOnceAndTriedAgain(t *testing.T) {
	kinds(t, true)
	s := newSuite(t)
	s.start()
	s.awaitLooks("GET", "/prometheusrules/")
	if told := s.log.Lines("Monitoring lacks", "PrometheusRule", "forbidden"); len(told) != 1 {
		t.Errorf("this is logged of a missing permission: %q", told)
	}
	s.grant()
	s.awaitAll()
	testkit.Await(t, "the log says that it is there", func(context.Context) error {
		if told := s.log.Lines("after all", "PrometheusRule"); len(told) != 1 {
			return fmt.Errorf("it says %q", told)
		}
		return nil
	})
}

func TestKindsThatGoAreNoFailure(t *testing.T) {
	kinds(t, true)
	s := newSuite(t)
	s.grant()
	s.start()
	s.awaitAll()
	kinds(t, false)
	s.awaitLooks("GET", "/prometheusrules/")
	s.awaitLooks("GET", "/grafanadashboards/")
	// What it meets while a kind is going is an error like any other.
	going := s.log.Lines("Monitoring lacks", "while custom resource definition is terminating")
	if told := s.log.Lines("Monitoring lacks"); len(told) > len(going) {
		t.Errorf("this is logged: %q", told)
	}
	if told := s.log.Lines("after all"); len(told) > 0 {
		t.Errorf("objects of kinds that are gone are said to be there: %q", told)
	}
	kinds(t, true)
	s.awaitAll()
}

func TestOutsideAPodNothingRuns(t *testing.T) {
	if err := (&Installer{}).SetUp(nil); err != nil { // A manager that were used would be missed.
		t.Error(err)
	}
}

// An operator that compares what it wants with what is there must not take defaults for changes.
func TestTheAPIServerAddsNothingToTheServiceMonitorOfACache(t *testing.T) {
	kinds(t, true)
	namespace := cluster.Namespace(t)
	memcached := testkit.MakeMemcached("sessions").Namespace(namespace).Size(1).Obj()
	if err := cluster.Client.Create(t.Context(), memcached); err != nil {
		t.Fatal(err)
	}
	id := owned.Identity{Name: "memcached", Instance: "sessions", Component: "cache"}
	wanted, err := manifest.ServiceMonitor(manifest.Cache{
		Name: "sessions", Namespace: namespace, Labels: id.Labels(), Selector: id.Selector(),
		Owner: owned.OwnerReference(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind)),
	}).Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	found := wanted.DeepCopy()
	testkit.Await(t, "the ServiceMonitor is applied", func(ctx context.Context) error {
		err := cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(found), client.FieldOwner(owned.Manager))
		if apierrors.IsNotFound(err) {
			return err // The kind is new.
		}
		if err != nil {
			t.Fatal(err)
		}
		return nil
	})
	if !reflect.DeepEqual(found.Object["spec"], wanted.Object["spec"]) {
		t.Errorf("it became %v, of %v", found.Object["spec"], wanted.Object["spec"])
	}
	// This is how operator/apply compares, with types that are deduced because these have none in Go.
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
		t.Errorf("it seems to have been changed at %s", differing)
	}
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != memcached.UID {
		t.Errorf("its owner is %v", owner)
	}
}
