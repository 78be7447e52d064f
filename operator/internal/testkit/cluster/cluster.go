package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"golang.org/x/mod/semver"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// Scheme knows all types that tests handle. Nothing may be added to it while controllers use it.
var Scheme = runtime.NewScheme()

// Config is how tests reach the API server, as administrator.
var Config *rest.Config

// OperatorConfig is how an operator under test reaches the API server: as its ServiceAccount, with the rights that its bundle grants.
var OperatorConfig *rest.Config

// OperatorRules are all rights that the bundle grants the operator, in the cluster and in its own namespace.
var OperatorRules []rbacv1.PolicyRule

// Client reads from and writes to the API server, as administrator and without a cache. It tries again what was not answered in time.
var Client client.Client

// Kubeconfig is the path of the file with which programs reach the API server, as administrator.
var Kubeconfig string

// busy is how long a busy machine may take to start or to stop the API server. It has 20 seconds by default: too few to end the watches of
// all clients.
const busy = 2 * time.Minute

var environment = &envtest.Environment{ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: busy, ControlPlaneStopTimeout: busy}

// Main starts the API server, runs the tests of a package and stops the API server. It returns the exit code.
func Main(m *testing.M) int {
	return exitCode(withAPIServer(func() (int, error) { return m.Run(), nil }))
}

// MainWithControllers does what Main does, and lets Kubernetes' controllers and a kubelet run beside the tests. More of these run at a
// time than there are processors, unless -parallel says otherwise: most of their time is waiting for what the operator does after some
// seconds.
func MainWithControllers(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "8"); err != nil {
			return exitCode(0, err)
		}
	}
	return exitCode(withAPIServer(func() (int, error) { return withControllers(m.Run) }))
}

func exitCode(code int, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func withAPIServer(run func() (int, error)) (code int, err error) {
	logger := logr.Discard() // Failing tests print what they need; the rest of the log would hide it.
	log.SetLogger(logger)
	klog.SetLogger(logger)
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test`, which builds Kubernetes and sets it, " +
			"or set it yourself with `export KUBEBUILDER_ASSETS=$(go run -C hack/cluster . assets)`")
	}
	manifests, err := newestManifests()
	if err != nil {
		return 1, err
	}
	environment.CRDDirectoryPaths = []string{manifests}
	if err := logRequests(); err != nil {
		return 1, err
	}
	release, err := reservePorts()
	if err != nil {
		return 1, err
	}
	defer release()
	// The default has 254 addresses, fewer than tests have Services.
	environment.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	if Config, err = startAPIServer(); err != nil {
		return 1, errors.Join(fmt.Errorf("start the API server: %w", err), environment.Stop())
	}
	defer func(directories ...string) { // Envtest leaves those of programs that were restarted.
		err = errors.Join(err, environment.Stop())
		for _, directory := range directories {
			err = errors.Join(err, os.RemoveAll(directory))
		}
	}(environment.ControlPlane.APIServer.CertDir, environment.ControlPlane.Etcd.DataDir)
	Config.QPS = -1
	Config.UserAgent = "administrator" // The manager of fields. By default, it is the name of the program, which differs between programs of one test.
	directory, err := os.MkdirTemp("", "kubeconfig-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	Kubeconfig = filepath.Join(directory, "kubeconfig")
	err = errors.Join(os.WriteFile(Kubeconfig, environment.KubeConfig, 0o600),
		clientgoscheme.AddToScheme(Scheme), appv1alpha1.AddToScheme(Scheme), v1alpha1.AddToScheme(Scheme), operatorsv2.AddToScheme(Scheme))
	if err != nil {
		return 1, err
	}
	if Client, err = newClient(Config); err != nil {
		return 1, err
	}
	if OperatorConfig, err = addOperator(manifests); err != nil {
		return 1, fmt.Errorf("make the account of the operator: %w", err)
	}
	return run()
}

// reservePorts gives etcd and the API server ports that nobody else takes until release is called. Envtest's own choice is a port that any new
// connection may take while they are not there: before the start, and while they restart.
func reservePorts() (release func(), err error) {
	etcd, releaseEtcd, err := testkit.ReserveAddress()
	if err != nil {
		return nil, err
	}
	server, releaseServer, err := testkit.ReserveAddress()
	if err != nil {
		releaseEtcd()
		return nil, err
	}
	environment.ControlPlane.Etcd = &envtest.Etcd{URL: &url.URL{Scheme: "http", Host: etcd}}
	host, port, _ := net.SplitHostPort(server) // It is host:port.
	environment.ControlPlane.GetAPIServer().Address = host
	environment.ControlPlane.GetAPIServer().Port = port
	return func() { releaseEtcd(); releaseServer() }, nil
}

// startAPIServer starts etcd and the API server. Envtest waits 5 seconds for the first namespace, whatever its settings are, and a busy
// machine takes longer: then it waits again, for the same API server.
func startAPIServer() (*rest.Config, error) {
	end := time.Now().Add(busy)
	config, err := environment.Start()
	for environment.Config != nil && errors.Is(err, context.DeadlineExceeded) && time.Now().Before(end) {
		environment.UseExistingCluster = ptr.To(true)
		config, err = environment.Start()
	}
	environment.UseExistingCluster = nil // Stop stops it.
	return config, err
}

// newestManifests returns the manifests of the newest bundle: tests use the CRDs that ship.
func newestManifests() (string, error) {
	directory, err := os.Getwd()
	for err == nil {
		found, _ := filepath.Glob(filepath.Join(directory, "bundles", "v*", "manifests"))
		if len(found) > 0 {
			return slices.MaxFunc(found, func(a, b string) int {
				return semver.Compare(filepath.Base(filepath.Dir(a)), filepath.Base(filepath.Dir(b)))
			}), nil
		}
		if directory == filepath.Dir(directory) {
			err = errors.New("no bundle in a directory bundles/ above the test: make one with `make bundle`")
		}
		directory = filepath.Dir(directory)
	}
	return "", err
}

// Program returns the path of one of Kubernetes' programs.
func Program(name string) string { return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name) }

// Namespace creates a namespace for one test.
func Namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test-" + rand.String(8)}}
	if err := Client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return namespace.Name
}

// Manifest returns what a user might have written, which Go's types would not let us write.
func Manifest(t *testing.T, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := json.Marshal(content)
	if err == nil {
		err = object.UnmarshalJSON(raw) // Its numbers are those of unstructured objects.
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// CreateManifest creates an object as kubectl does: unknown fields are refused.
func CreateManifest(t *testing.T, content map[string]any) error {
	t.Helper()
	return Client.Create(t.Context(), Manifest(t, content), client.FieldValidation("Strict"))
}
