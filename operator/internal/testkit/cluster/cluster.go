package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Patience is how long a test waits for what it expects. It is long because the machine may be busy; nothing waits
// longer than it has to.
const Patience = 60 * time.Second

// Scheme knows all types that tests handle.
var Scheme = runtime.NewScheme()

// Config is how tests reach the API server, as administrator.
var Config *rest.Config

// Client reads from and writes to the API server, as administrator and without a cache.
var Client client.Client

// kubeconfig is how programs reach the API server.
var kubeconfig []byte

// Main starts the API server, runs the tests of a package and stops the API server. It returns the exit code.
func Main(m *testing.M) int {
	logger := logr.Discard() // Failing tests print what they need; the rest of the log would hide it.
	log.SetLogger(logger)
	klog.SetLogger(logger)
	code, err := run(m)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test`, which builds etcd and kube-apiserver and sets it, " +
			"or set it yourself with `export KUBEBUILDER_ASSETS=$(go run -C hack/cluster . assets)`")
	}
	manifests, err := newestManifests()
	if err != nil {
		return 1, err
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{manifests}, ErrorIfCRDPathMissing: true}
	if Config, err = environment.Start(); err != nil {
		return 1, errors.Join(fmt.Errorf("start the API server: %w", err), environment.Stop())
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	Config.QPS = -1
	kubeconfig = environment.KubeConfig
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, appv1alpha1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(Scheme); err != nil {
			return 1, err
		}
	}
	if Client, err = client.New(Config, client.Options{Scheme: Scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// newestManifests returns the manifests of the newest bundle: tests use the CRDs that ship.
func newestManifests() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "bundles")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return "", errors.New("no directory bundles/ above the test: make it with `make bundle`")
		}
		root = filepath.Dir(root)
	}
	found, err := filepath.Glob(filepath.Join(root, "bundles", "v*", "manifests"))
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, errors.New("no bundle in bundles/: make it with `make bundle`"))
	}
	return slices.MaxFunc(found, func(a, b string) int {
		return semver.Compare(filepath.Base(filepath.Dir(a)), filepath.Base(filepath.Dir(b)))
	}), nil
}

// Namespace creates a namespace for one test.
func Namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := Client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return namespace.Name
}

// Kubeconfig returns the path of a file that gives programs access to the API server.
func Kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatalf("write a kubeconfig: %v", err)
	}
	return path
}

// Await polls until check returns nil, and fails the test with its last error when that does not happen in time.
func Await(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if last == nil || ctx.Err() == nil {
			last = err // What a request that ran out of time says is not what was missing.
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited %s for this: %s\nlast seen: %v", Patience, what, last)
		}
	}
}
