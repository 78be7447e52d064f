package cluster

import (
	"context"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Operator is a running manager whose requests are counted.
type Operator struct {
	// Traffic is what it has asked of the API server.
	Traffic *Traffic

	// Stop ends the operator and waits until it has ended.
	Stop func()
}

// StartOperator starts the manager that build returns for the API server, which it reaches with config, and stops it at the end of the
// test. The manager should watch only namespaces of the test, so that tests can run side by side.
func StartOperator(t *testing.T, config *rest.Config, build func(*rest.Config) (manager.Manager, error)) *Operator {
	t.Helper()
	operator := &Operator{Traffic: &Traffic{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(operator.Traffic.Wrap)
	mgr, err := build(counted)
	if err != nil {
		t.Fatalf("build the manager: %v", err)
	}
	stop := start(mgr)
	operator.Stop = sync.OnceFunc(func() {
		if err := stop(); err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})
	t.Cleanup(operator.Stop)
	return operator
}

// start starts a manager. stop ends it and waits until it has ended.
func start(mgr manager.Manager) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}
