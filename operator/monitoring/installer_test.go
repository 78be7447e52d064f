package monitoring

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

func TestObjectsAreInstalledWhenTheirKindsAre(t *testing.T) {
	kinds(t, false)
	s := newInstallation(t)
	s.grant()
	s.start()
	s.awaitChecks("GET", "/apis/monitoring.coreos.com/v1")
	if writes := s.requests.Count("PATCH", ""); writes > 0 {
		t.Errorf("%d writes although the cluster has none of the kinds", writes)
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
			t.Errorf("%s has an owner and would be deleted with it: %v", wanted.GetKind(), found.GetOwnerReferences())
		}
	}
	for _, kind := range []string{"PrometheusRule", "ServiceMonitor", "ConfigMap", "GrafanaDashboard"} {
		testkit.Await(t, "one line about "+kind, func(context.Context) error {
			if lines := s.log.Lines("Created monitoring object", kind); len(lines) != 1 {
				return fmt.Errorf("the lines are %q", lines)
			}
			return nil
		})
	}
}

func TestChangesAreRevertedAndAdditionsKept(t *testing.T) {
	kinds(t, true)
	s := newInstallation(t)
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
	testkit.Await(t, "changes are reverted and additions kept", func(ctx context.Context) error {
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

func TestUnchangedObjectsAreNotWritten(t *testing.T) {
	kinds(t, true)
	s := newInstallation(t)
	s.grant()
	s.start()
	before := s.awaitAll()
	s.awaitChecks("PATCH", "/grafanadashboards/")
	for i, now := range s.awaitAll() {
		if now.GetResourceVersion() != before[i].GetResourceVersion() {
			t.Errorf("%s was written again", now.GetKind())
		}
	}
}

func TestAForeignObjectIsNotChanged(t *testing.T) {
	kinds(t, true)
	s := newInstallation(t)
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
	s.awaitChecks("GET", "/configmaps/")
	found := &corev1.ConfigMap{}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), found); err != nil {
		t.Fatal(err)
	}
	if found.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the ConfigMap was changed: %v", found)
	}
	if lines := s.log.Lines("memcached-operator-dashboard", "ConfigMap", "not changed"); len(lines) != 1 {
		t.Errorf("the log contains %q", lines)
	}
	if err := cluster.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the ConfigMap is installed when its name is free", func(ctx context.Context) error {
		object, err := s.get(ctx, s.wanted()[2])
		if err == nil && object.GetLabels()[owned.LabelManagedBy] != owned.Manager {
			err = fmt.Errorf("labels are %v", object.GetLabels())
		}
		return err
	})
}

func TestAFailureIsLoggedOnceAndRetried(t *testing.T) {
	kinds(t, true)
	s := newInstallation(t)
	s.start()
	s.awaitChecks("GET", "/prometheusrules/")
	if lines := s.log.Lines("Cannot install monitoring object", "PrometheusRule", "forbidden"); len(lines) != 1 {
		t.Errorf("a missing permission is logged as %q", lines)
	}
	s.grant()
	s.awaitAll()
	testkit.Await(t, "the log says that it is installed", func(context.Context) error {
		if lines := s.log.Lines("after an earlier failure", "PrometheusRule"); len(lines) != 1 {
			return fmt.Errorf("it contains %q", lines)
		}
		return nil
	})
}

func TestRemovedKindsAreNoFailure(t *testing.T) {
	kinds(t, true)
	s := newInstallation(t)
	s.grant()
	s.start()
	s.awaitAll()
	kinds(t, false)
	s.awaitChecks("GET", "/prometheusrules/")
	s.awaitChecks("GET", "/grafanadashboards/")
	// Errors while a CRD is terminating are logged like any other.
	going := s.log.Lines("Cannot install monitoring object", "while custom resource definition is terminating")
	if lines := s.log.Lines("Cannot install monitoring object"); len(lines) > len(going) {
		t.Errorf("the log contains %q", lines)
	}
	if lines := s.log.Lines("after an earlier failure"); len(lines) > 0 {
		t.Errorf("objects of removed kinds are logged as installed: %q", lines)
	}
	kinds(t, true)
	s.awaitAll()
}

func TestNothingRunsOutsideAPod(t *testing.T) {
	if err := (&Installer{}).SetUp(nil); err != nil { // Using the nil manager would panic.
		t.Error(err)
	}
}
