package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/crds"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/pod-security-admission/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

func TestAnImageThatIsNotNamedByDigestIsWarnedAbout(t *testing.T) {
	for image, warned := range map[string]bool{digest: false, "memcached:1.6": true} {
		var log bytes.Buffer
		images, err := environment{"RELATED_IMAGE_MEMCACHED_1_6_18": image}.images(newLogger(&log))
		if got := images.Memcached["1.6.18"]; got != image || err != nil {
			t.Errorf("%s became %q, %v", image, got, err)
		}
		if strings.Contains(log.String(), "not named by digest") != warned {
			t.Errorf("%s logs %q", image, log.String())
		}
	}
}

func TestImagesAreReadFromTheEnvironment(t *testing.T) {
	const agent = "quay.io/example/memcached-operator:v0.3.0"
	for name, test := range map[string]struct {
		variables []string
		want      inputs.Images
	}{
		"one version": {
			variables: known,
			want:      inputs.Images{Memcached: map[string]string{"1.6.18": digest}, Default: "1.6.18"},
		},
		"without a default, the highest version": {
			variables: []string{"RELATED_IMAGE_MEMCACHED_1_6_18=mc:18", "RELATED_IMAGE_MEMCACHED_1_10_0=mc:10", "RELATED_IMAGE_MEMCACHED_1_6_9=mc:9"},
			want:      inputs.Images{Memcached: map[string]string{"1.6.18": "mc:18", "1.10.0": "mc:10", "1.6.9": "mc:9"}, Default: "1.10.0"},
		},
		"the default that is set, and the agent": {
			variables: []string{"RELATED_IMAGE_MEMCACHED_1_6_45=mc:45", "MEMCACHED_VERSION=1.6.18", "AGENT_IMAGE=" + agent, "RELATED_IMAGE_MEMCACHED_1_6_18=mc:18"},
			want:      inputs.Images{Memcached: map[string]string{"1.6.18": "mc:18", "1.6.45": "mc:45"}, Default: "1.6.18", Agent: agent},
		},
		"images of others are left alone": {
			variables: append([]string{"RELATED_IMAGE_NGINX=x", "RELATED_IMAGE_MEMCACHED=" + digest}, known...),
			want:      inputs.Images{Memcached: map[string]string{"1.6.18": digest}, Default: "1.6.18"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readEnvironment(test.variables).images(logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatAdministratorsLimit(t *testing.T) {
	for _, test := range []struct {
		variables   []string
		level       api.Level
		annotations inputs.AllowedAnnotations
	}{
		{nil, api.LevelBaseline, nil},
		{[]string{"APPLICATION_POD_SECURITY=privileged", "MEMCACHED_SERVICE_ANNOTATIONS="}, api.LevelPrivileged, inputs.AllowedAnnotations{}},
		{[]string{"APPLICATION_POD_SECURITY=restricted", "MEMCACHED_SERVICE_ANNOTATIONS=example.com/pool, lb.example.com/,aws.example.com/a-*,*"},
			api.LevelRestricted, inputs.AllowedAnnotations{"example.com/pool", "lb.example.com/", "aws.example.com/a-*", "*"}},
	} {
		e := readEnvironment(test.variables)
		level, levelErr := e.podSecurity()
		annotations, annotationsErr := e.serviceAnnotations()
		if err := errors.Join(levelErr, annotationsErr); err != nil || level != test.level {
			t.Errorf("%v: the level is %s, %v", test.variables, level, err)
		}
		if difference := cmp.Diff(test.annotations, annotations); difference != "" {
			t.Errorf("%v (-want +got):\n%s", test.variables, difference)
		}
	}
}

func TestOnlyOLMIsToldWhetherTheOperatorCanBeUpgraded(t *testing.T) {
	pod := filepath.Join(t.TempDir(), "namespace")
	if err := os.WriteFile(pod, []byte("operators\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(t.TempDir(), "namespace")
	for name, test := range map[string]struct {
		condition, namespaceFile string
		want                     types.NamespacedName
		logs                     string
	}{
		"in a pod that OLM has made":   {condition: "op.v1", namespaceFile: pod, want: types.NamespacedName{Namespace: "operators", Name: "op.v1"}},
		"in a pod of somebody else":    {namespaceFile: pod},
		"outside a pod":                {namespaceFile: nowhere},
		"outside a pod, but as in one": {condition: "op.v1", namespaceFile: nowhere, logs: "works only in a pod"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			variables := environment{"OPERATOR_CONDITION_NAME": test.condition}
			if got := variables.operatorCondition(test.namespaceFile, newLogger(&log)); got != test.want {
				t.Errorf("it is %v, want %v", got, test.want)
			}
			if lines := strings.Count(log.String(), "\n"); !strings.Contains(log.String(), test.logs) || lines > 1 || lines > 0 && test.logs == "" {
				t.Errorf("the log is %q", log.String())
			}
		})
	}
}

// The whole manager, as OLM runs it: not ready before OLM has been told that the operator can be upgraded.
func TestUnderOLMTheManagerIsReadyWhenOLMHasBeenTold(t *testing.T) {
	_, err := envtest.InstallCRDs(cluster.Config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{crds.OperatorCondition()},
	})
	if err != nil {
		t.Fatal(err)
	}
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(t), Name: "op.v1"}}
	health, registry := testkit.FreeAddress(t), prometheus.NewRegistry()
	cluster.StartOperator(t, cluster.Config, func(config *rest.Config) (ctrlmanager.Manager, error) {
		return manager.New(config, manager.Options{
			MetricsAddress: "0", HealthAddress: health, Logger: logr.Discard(), Metrics: registry,
			Images:            inputs.Images{Memcached: map[string]string{"1.6.18": digest}, Default: "1.6.18"},
			OperatorCondition: client.ObjectKeyFromObject(condition), WatchNamespaces: []string{condition.Namespace},
		})
	})
	awaitProbe := func(path string, want int) {
		testkit.Await(t, fmt.Sprintf("%s answers %d", path, want), func(context.Context) error {
			response, _, err := get(t, "http://"+health+path, "")
			if err == nil && response.StatusCode != want {
				err = errors.New(response.Status)
			}
			return err
		})
	}
	awaitProbe("/healthz", http.StatusOK)
	awaitProbe("/readyz", http.StatusInternalServerError)
	if err := cluster.Client.Create(t.Context(), condition); err != nil {
		t.Fatal(err)
	}
	awaitProbe("/readyz", http.StatusOK)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(condition), condition); err != nil {
		t.Fatal(err)
	}
	if !apimeta.IsStatusConditionTrue(condition.Spec.Conditions, operatorsv2.Upgradeable) {
		t.Errorf("OLM has not been told: %+v", condition.Spec)
	}
	testkit.Await(t, "the metric says 1", func(context.Context) error {
		families, err := registry.Gather()
		for _, family := range families {
			if family.GetName() == "memcached_operator_upgradeable" && family.GetMetric()[0].GetGauge().GetValue() == 1 {
				return nil
			}
		}
		return errors.Join(err, errors.New("no such metric, or another value"))
	})
}
