// Package apiserver runs a real kube-apiserver and etcd for benchmarks, with the CRDs of the newest bundle and two accounts: that of the
// operator, with the rights that its bundle grants, and that of the bare client. It measures what both processes cost.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/memcached-operator/hack/project"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Server is a running API server with its etcd.
type Server struct {
	// Config is how the harness reaches it, as administrator and without a limit of requests.
	Config *rest.Config

	// Client reads and writes as administrator, without a cache.
	Client client.Client

	// Scheme knows the types that benchmarks handle.
	Scheme *runtime.Scheme

	// OperatorKubeconfig and BareKubeconfig are files with the accounts of the operator and of the bare client.
	OperatorKubeconfig, BareKubeconfig string

	environment *envtest.Environment
	directory   string
	processes   []procfs.Proc
}

// Start starts the programs that KUBEBUILDER_ASSETS names. root is the root of the checkout. Call Stop, even after an error of others.
func Start(ctx context.Context, root string) (_ *Server, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: run `make bench`, which builds Kubernetes and sets it, " +
			"or set it yourself with `export KUBEBUILDER_ASSETS=$(go run -C hack/cluster . assets)`")
	}
	manifests := filepath.Join(root, project.BundleDir(project.Version), "manifests")
	s := &Server{environment: &envtest.Environment{ErrorIfCRDPathMissing: true, CRDDirectoryPaths: []string{manifests}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.directory, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	// Each Service of a burst has an address. The usual range of envtest has 254.
	s.environment.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	if s.Config, err = s.environment.Start(); err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	s.Config.QPS = -1
	s.Scheme = runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(s.Scheme), appv1alpha1.AddToScheme(s.Scheme), v1alpha1.AddToScheme(s.Scheme))
	if err != nil {
		return nil, err
	}
	if s.Client, err = client.New(s.Config, client.Options{Scheme: s.Scheme}); err != nil {
		return nil, err
	}
	if s.processes, err = children("kube-apiserver", "etcd"); err != nil {
		return nil, err
	}
	if err := s.addAccounts(ctx, manifests); err != nil {
		return nil, fmt.Errorf("make the accounts: %w", err)
	}
	return s, nil
}

// Stop stops both programs and removes all files.
func (s *Server) Stop() error {
	return errors.Join(s.environment.Stop(), os.RemoveAll(s.directory))
}

// Version returns the version of Kubernetes.
func (s *Server) Version() (string, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return "", err
	}
	version, err := discoverer.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	return version.GitVersion, nil
}

// CPU is processor time, user and system, in seconds.
type CPU struct{ APIServer, Etcd float64 }

// CPU returns what both programs have used since they were started.
func (s *Server) CPU() (CPU, error) {
	var used [2]float64
	for i, process := range s.processes {
		stat, err := process.Stat()
		if err != nil {
			return CPU{}, fmt.Errorf("ask for the CPU time of the API server and etcd: %w", err)
		}
		used[i] = stat.CPUTime()
	}
	return CPU{APIServer: used[0], Etcd: used[1]}, nil
}

// Minus returns what was used since an earlier time.
func (c CPU) Minus(earlier CPU) CPU {
	return CPU{APIServer: c.APIServer - earlier.APIServer, Etcd: c.Etcd - earlier.Etcd}
}

// children returns the child processes of this one with the given names, in their order.
func children(names ...string) ([]procfs.Proc, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	found := make([]procfs.Proc, len(names))
	for _, process := range all {
		stat, err := process.Stat()
		if err != nil || stat.PPID != os.Getpid() {
			continue // It has ended meanwhile, or is not ours.
		}
		for i, name := range names {
			if stat.Comm == name {
				found[i] = process
			}
		}
	}
	for i, process := range found {
		if process.PID == 0 {
			return nil, fmt.Errorf("no process %s is running", names[i])
		}
	}
	return found, nil
}
