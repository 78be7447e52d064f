package inputs_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// resources is what a cluster says it has, of a group and version.
func resources(groupVersion string, names ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	return list
}

func TestWhatTheClusterCanDo(t *testing.T) {
	core, resizable := resources("v1", "pods", "pods/status"), resources("v1", "pods", "pods/resize")
	both := inputs.Features{Resize: true, Shrink: true}
	monitors := resources("monitoring.coreos.com/v1", "servicemonitors", "prometheusrules")
	for name, test := range map[string]struct {
		has     []*metav1.APIResourceList
		version string
		want    inputs.Features
	}{
		"neither":                       {[]*metav1.APIResourceList{core}, "v1.36.3", inputs.Features{}},
		"resizing of running pods":      {[]*metav1.APIResourceList{resizable}, "v1.34.0-eks-1234", both},
		"resizing, but no lower limits": {[]*metav1.APIResourceList{resizable}, "v1.33.9+k3s1", inputs.Features{Resize: true}},
		"ServiceMonitors":               {[]*metav1.APIResourceList{core, monitors}, "v1.30.0", inputs.Features{ServiceMonitors: true}},
		"the group, not the kind":       {[]*metav1.APIResourceList{core, resources("monitoring.coreos.com/v1", "probes")}, "v1.30.0", inputs.Features{}},
		"resizing and ServiceMonitors":  {[]*metav1.APIResourceList{resizable, monitors}, "v1.36.3", inputs.Features{Resize: true, Shrink: true, ServiceMonitors: true}},
		"the kind of another group":     {[]*metav1.APIResourceList{core, resources("example.com/v1", "servicemonitors")}, "v1.30.0", inputs.Features{}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: test.has}, FakedServerVersion: &version.Info{GitVersion: test.version}}
			features := &inputs.FeatureReader{Discovery: withSchemas{cluster, openapitest.NewFakeClient()}, Clock: clocktesting.NewFakePassiveClock(time.Now())}
			if got, err := features.Get(); got != test.want || err != nil {
				t.Errorf("got %+v and %v, want %+v", got, err, test.want)
			}
		})
	}
}

// withSchemas is a cluster that tells the schemas of its kinds.
type withSchemas struct {
	*discoveryfake.FakeDiscovery
	openapi.Client
}

func (w withSchemas) OpenAPIV3() openapi.Client { return w.Client }

// schemas are the schemas of a group and version, with their hash in the URL.
type schemas struct {
	openapitest.FakeGroupVersion
	url string
}

func (s schemas) ServerRelativeURL() string { return s.url }

const monitorSchemas = `{"components": {"schemas": {
	"com.coreos.monitoring.v1.PodMonitor": {
		"properties": {"spec": {"properties": {"bodySizeLimit": {}}}},
		"x-kubernetes-group-version-kind": [{"group": "monitoring.coreos.com", "version": "v1", "kind": "PodMonitor"}]},
	"com.coreos.monitoring.v1.ServiceMonitor": {
		"properties": {"spec": {"properties": {"endpoints": {}, %s: {"type": "string"}}}},
		"x-kubernetes-group-version-kind": [{"group": "monitoring.coreos.com", "version": "v1", "kind": "ServiceMonitor"}]}}}}`

// An old Prometheus Operator has no limit of the size of a scrape, and the API server refuses to apply one.
func TestLimitsOfScrapesNeedAFieldOfServiceMonitors(t *testing.T) {
	const monitoring = "apis/monitoring.coreos.com/v1"
	told := func(url, field string) map[string]openapi.GroupVersion {
		return map[string]openapi.GroupVersion{monitoring: schemas{openapitest.FakeGroupVersion{GVSpec: fmt.Appendf(nil, monitorSchemas, field)}, url}}
	}
	client := openapitest.NewFakeClient()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	features := &inputs.FeatureReader{Clock: clock, Discovery: withSchemas{
		&discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{
			resources("v1", "pods"), resources("monitoring.coreos.com/v1", "servicemonitors"),
		}}}, client,
	}}
	limited := inputs.Features{ServiceMonitors: true, ScrapeLimits: true}
	untold := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no rule"))
	for _, step := range []struct {
		name  string
		paths map[string]openapi.GroupVersion
		err   error
		want  inputs.Features
	}{
		{name: "no answer, before there was one", err: errors.New("connection refused")},
		{name: "no JSON, before there was any", paths: told("?hash=3", "no JSON")},
		{name: "who may not read schemas", err: untold, want: inputs.Features{ServiceMonitors: true}},
		{name: "no schemas yet", want: inputs.Features{ServiceMonitors: true}},
		{name: "an old kind", paths: told("?hash=1", `"sampleLimit"`), want: inputs.Features{ServiceMonitors: true}},
		{name: "the newest kind", paths: told("?hash=2", `"bodySizeLimit"`), want: limited},
		{name: "the same schemas are not read again", paths: told("?hash=2", "no JSON"), want: limited},
		{name: "no answer", err: errors.New("connection refused"), want: limited},
		{name: "no JSON", paths: told("?hash=3", "no JSON"), want: limited},
		{name: "an API server that has just started", want: limited},
		{name: "the same schemas", paths: told("?hash=2", `"bodySizeLimit"`), want: limited},
		{name: "an old kind again", paths: told("?hash=1", `"sampleLimit"`), want: inputs.Features{ServiceMonitors: true}},
	} {
		clock.SetTime(clock.Now().Add(6 * time.Minute))
		client.PathsMap, client.ForcedErr = step.paths, step.err
		if got, err := features.Get(); got != step.want || err != nil {
			t.Errorf("%s: %+v, %v", step.name, got, err)
		}
	}
}

// A cluster learns of kinds while the operator runs; but to ask at each pass would load the API server.
func TestTheClusterIsAskedAgainAfterSomeMinutes(t *testing.T) {
	cluster := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{resources("v1", "pods")}}, FakedServerVersion: &version.Info{GitVersion: "v1.36.3"}}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	features := &inputs.FeatureReader{Discovery: cluster, Clock: clock}
	for _, step := range []struct {
		passes time.Duration
		want   bool
	}{{0, false}, {4 * time.Minute, false}, {2 * time.Minute, true}} {
		clock.SetTime(clock.Now().Add(step.passes))
		got, err := features.Get()
		if got.Resize != step.want || err != nil {
			t.Errorf("%s later: %+v, %v", step.passes, got, err)
		}
		cluster.Resources = []*metav1.APIResourceList{resources("v1", "pods", "pods/resize")}
	}
}

// What could not be found out is not taken for missing, which would replace pods instead of resizing them.
func TestAFailureIsNotAnAnswer(t *testing.T) {
	cluster := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}}
	cluster.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	features := &inputs.FeatureReader{Discovery: cluster, Clock: clocktesting.NewFakePassiveClock(time.Now())}
	if _, err := features.Get(); err == nil {
		t.Error("a cluster that does not answer was taken for one that can do nothing")
	}
}
