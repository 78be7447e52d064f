package cluster

import (
	"context"
	"maps"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Operator is a running manager whose requests are counted.
type Operator struct {
	// Traffic is what it has asked of the API server.
	Traffic *Traffic

	stop func()
}

// StartOperator starts a manager that looks after one namespace, so that tests can run side by side, and those that caches
// names. setUp adds the controllers under test. The manager is stopped at the end of the test.
func StartOperator(t *testing.T, namespace string, caches cache.Options, setUp func(manager.Manager) error) *Operator {
	t.Helper()
	operator := &Operator{Traffic: &Traffic{}}
	counted := rest.CopyConfig(Config)
	counted.Wrap(operator.Traffic.Wrap)
	namespaces := map[string]cache.Config{namespace: {}}
	maps.Copy(namespaces, caches.DefaultNamespaces)
	caches.DefaultNamespaces = namespaces
	mgr, err := manager.New(counted, manager.Options{
		Scheme:     Scheme,
		Cache:      caches,
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatalf("create the manager: %v", err)
	}
	if err := setUp(mgr); err != nil {
		t.Fatalf("set up the controllers: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	operator.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})
	t.Cleanup(operator.stop)
	return operator
}

// Stop ends the operator and waits until it has ended.
func (o *Operator) Stop() { o.stop() }
