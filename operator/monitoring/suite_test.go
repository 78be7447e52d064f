package monitoring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// fast looks often, so that tests do not take minutes.
var fast = timing{look: 50 * time.Millisecond, retry: 50 * time.Millisecond, attempt: testkit.Patience}

// kinds makes the API server know the kinds of monitoring systems, or forget them. They are the same for all tests, which is
// why none runs in parallel, and each says what it needs.
func kinds(t *testing.T, wanted bool) {
	t.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{"testdata/crds.yaml"}, ErrorIfPathMissing: true, MaxTime: testkit.Patience}
	if wanted {
		if _, err := envtest.InstallCRDs(cluster.Config, options); err != nil {
			t.Fatalf("install the kinds: %v", err)
		}
		return
	}
	if err := envtest.UninstallCRDs(cluster.Config, options); err != nil {
		t.Fatalf("remove the kinds: %v", err)
	}
	testkit.Await(t, "the kinds are gone", func(ctx context.Context) error {
		for _, kind := range []schema.GroupVersionKind{
			manifest.PrometheusRuleKind, manifest.ServiceMonitorKind, manifest.GrafanaDashboardKind,
		} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			err := cluster.Client.List(ctx, list)
			if !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
				return errors.Join(fmt.Errorf("%s can be listed, or not for another reason", kind.Kind), err)
			}
		}
		return nil
	})
}

// suite is a namespace, and an operator that runs in it with no more permissions than it is given.
type suite struct {
	*testing.T
	namespace string
	log       *testkit.Log
	operator  *cluster.Operator
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{T: t, namespace: cluster.Namespace(t), log: testkit.NewLog(t)}
}

// account is the operator's own.
func (s *suite) account() string { return "system:serviceaccount:" + s.namespace + ":operator" }

// grant permits what the markers of doc.go ask for.
func (s *suite) grant() {
	s.Helper()
	object := metav1.ObjectMeta{Namespace: s.namespace, Name: "operator"}
	verbs := []string{"get", "create", "patch"}
	for _, created := range []client.Object{
		&rbacv1.Role{ObjectMeta: object, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"monitoring.coreos.com"}, Resources: []string{"prometheusrules", "servicemonitors"}, Verbs: verbs},
			{APIGroups: []string{"grafana.integreatly.org"}, Resources: []string{"grafanadashboards"}, Verbs: verbs},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: object,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.account()}},
		},
	} {
		if err := cluster.Client.Create(s.Context(), created); err != nil {
			s.Fatal(err)
		}
	}
}

// start starts the operator until the end of the test.
func (s *suite) start() {
	s.Helper()
	s.operator = cluster.StartOperator(s.T, func(config *rest.Config) (manager.Manager, error) {
		config.Impersonate = rest.ImpersonationConfig{UserName: s.account(), Groups: []string{"system:authenticated"}}
		mgr, err := manager.New(config, manager.Options{
			Scheme: cluster.Scheme, Metrics: server.Options{BindAddress: "0"},
			Logger: logr.FromSlogHandler(slog.NewJSONHandler(s.log, nil)),
		})
		if err != nil {
			return nil, err
		}
		return mgr, (&Installer{Namespace: s.namespace, Clock: clock.RealClock{}, timing: fast}).SetUp(mgr)
	})
}

// awaitLooks waits until the operator has asked the API server for something a few times more.
func (s *suite) awaitLooks(method, part string) {
	s.Helper()
	const more = 3
	before := s.operator.Traffic.Count(method, part)
	testkit.Await(s.T, fmt.Sprintf("%d more requests %s ...%s...", more, method, part), func(context.Context) error {
		if now := s.operator.Traffic.Count(method, part); now < before+more {
			return fmt.Errorf("%d so far", now-before)
		}
		return nil
	})
}

// wanted returns the objects that are to be there.
func (s *suite) wanted() []*unstructured.Unstructured {
	s.Helper()
	all, err := manifest.Operator(s.namespace)
	if err != nil {
		s.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, wanted := range all {
		object, err := wanted.Object.Unstructured()
		if err != nil {
			s.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

// get reads an object of the same kind and name.
func (s *suite) get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(like.GroupVersionKind())
	return found, cluster.Client.Get(ctx, client.ObjectKeyFromObject(like), found)
}

// awaitAll waits until every object is there, and returns them.
func (s *suite) awaitAll() []*unstructured.Unstructured {
	s.Helper()
	var all []*unstructured.Unstructured
	testkit.Await(s.T, "every object is there", func(ctx context.Context) error {
		all = nil
		var missing []error
		for _, object := range s.wanted() {
			found, err := s.get(ctx, object)
			missing = append(missing, err)
			all = append(all, found)
		}
		return errors.Join(missing...)
	})
	return all
}
