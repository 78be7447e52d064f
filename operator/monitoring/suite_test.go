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

// brisk checks often, so that tests do not take minutes.
var brisk = timing{check: 50 * time.Millisecond, retry: 50 * time.Millisecond, attempt: testkit.Patience}

// kinds installs the CRDs of monitoring systems, or removes them. The tests share them, so none runs in parallel, and each
// test sets what it needs.
func kinds(t *testing.T, wanted bool) {
	t.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{"testdata/crds.yaml"}, ErrorIfPathMissing: true, MaxTime: testkit.Patience}
	if wanted {
		if _, err := envtest.InstallCRDs(cluster.Config, options); err != nil {
			t.Fatalf("install the CRDs: %v", err)
		}
		return
	}
	if err := envtest.UninstallCRDs(cluster.Config, options); err != nil {
		t.Fatalf("remove the CRDs: %v", err)
	}
	testkit.Await(t, "the CRDs are removed", func(ctx context.Context) error {
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

// installation is a namespace with an operator that has only the permissions that the test grants.
type installation struct {
	*testing.T
	namespace string
	log       *testkit.Log
	requests  cluster.Traffic
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	return &installation{T: t, namespace: cluster.Namespace(t), log: testkit.NewLog(t)}
}

// account is the operator's ServiceAccount.
func (s *installation) account() string { return "system:serviceaccount:" + s.namespace + ":operator" }

// grant grants what the bundle grants, in the namespace of the installation.
func (s *installation) grant() {
	s.Helper()
	object := metav1.ObjectMeta{Namespace: s.namespace, Name: "operator"}
	for _, created := range []client.Object{
		&rbacv1.Role{ObjectMeta: object, Rules: cluster.OperatorRules},
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
func (s *installation) start() {
	s.Helper()
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: s.account(), Groups: []string{"system:authenticated"}}
	config.Wrap(s.requests.Wrap)
	mgr, err := manager.New(config, manager.Options{
		Scheme: cluster.Scheme, Metrics: server.Options{BindAddress: "0"},
		Logger: logr.FromSlogHandler(slog.NewJSONHandler(s.log, nil)),
	})
	if err != nil {
		s.Fatalf("create the manager: %v", err)
	}
	if err := (&Installer{Namespace: s.namespace, Clock: clock.RealClock{}, timing: brisk}).SetUp(mgr); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("run the manager: %v", err)
		}
	})
}

// awaitChecks waits until the operator has sent a few more requests of the given kind.
func (s *installation) awaitChecks(method, part string) {
	s.Helper()
	const more = 3
	before := s.requests.Count(method, part)
	testkit.Await(s.T, fmt.Sprintf("%d more requests %s ...%s...", more, method, part), func(context.Context) error {
		if now := s.requests.Count(method, part); now < before+more {
			return fmt.Errorf("%d so far", now-before)
		}
		return nil
	})
}

// wanted returns the objects that the operator installs.
func (s *installation) wanted() []*unstructured.Unstructured {
	s.Helper()
	all, err := manifest.Operator(s.namespace)
	if err != nil {
		s.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, wanted := range all {
		objects = append(objects, wanted.Object)
	}
	return objects
}

// get reads an object of the same kind and name.
func (s *installation) get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(like.GroupVersionKind())
	return found, cluster.Client.Get(ctx, client.ObjectKeyFromObject(like), found)
}

// awaitAll waits until all objects exist, and returns them.
func (s *installation) awaitAll() []*unstructured.Unstructured {
	s.Helper()
	var all []*unstructured.Unstructured
	testkit.Await(s.T, "all objects exist", func(ctx context.Context) error {
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
