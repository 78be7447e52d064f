package walk

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Cluster is a connection to the cluster in KUBECONFIG.
type Cluster struct {
	// Client has no cache: it reads the current state from the API server.
	Client client.WithWatch
	// Config is how Client connects.
	Config *rest.Config
	// KubectlPath is the kubectl that Kubectl runs.
	KubectlPath string
}

// Connect connects to the cluster of KUBECONFIG or ~/.kube/config. It is an error if the API server is not ready.
func Connect(ctx context.Context, kubectl string) (*Cluster, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to connect to (set KUBECONFIG, or run `make cluster`): %w", err)
	}
	// The default limit is made for controllers. The API server's priority and fairness suffice here.
	config.QPS = -1
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, cachev1alpha1.AddToScheme, appv1alpha1.AddToScheme,
		operatorsv1alpha1.AddToScheme, operatorsv1.AddToScheme, operatorsv2.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cluster at %s: %w", config.Host, err)
	}
	cluster := &Cluster{Client: c, Config: config, KubectlPath: kubectl}
	if _, err := cluster.Kubectl(ctx, "get", "--raw", "/readyz"); err != nil {
		return nil, fmt.Errorf("cluster at %s is not ready: %w", config.Host, err)
	}
	return cluster, nil
}

// Kubectl runs kubectl with args and returns its standard output. An error has kubectl's standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.KubectlPath, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Within calls check twice a second until it returns nil. If d passes first, or ctx ends, it returns the last error of check,
// which should name what is missing.
func Within(ctx context.Context, d time.Duration, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// An error after the deadline only says that time is up, and would hide what is missing.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: not within %s: %w", what, d, last)
	}
	return nil
}
