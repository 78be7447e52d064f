package manager_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// The manager ends whenever another replica leads. Its work ends with it, so that two never do it at the same time.
func TestNothingIsLeftWhenTheManagerEnds(t *testing.T) {
	namespace := cluster.Namespace(t)
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := rest.CopyConfig(cluster.Config)
	mgr, err := manager.New(config, manager.Options{
		MetricsAddress: testkit.FreeAddress(t), HealthAddress: testkit.FreeAddress(t), WatchNamespaces: []string{namespace}, Logger: logr.Discard(),
		Metrics: prometheus.NewRegistry(), Images: inputs.Images{Memcached: map[string]string{"1.6.18": "memcached:1"}, Default: "1.6.18"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	<-mgr.Elected()
	memcached := testkit.MakeMemcached("cache").Namespace(namespace).Size(1).Obj()
	if err := cluster.Client.Create(ctx, memcached); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the cache is reconciled", func(ctx context.Context) error {
		err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(memcached), memcached)
		if err == nil && len(memcached.Status.Conditions) == 0 {
			err = errors.New("it has no conditions")
		}
		return err
	})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	mgr.GetHTTPClient().CloseIdleConnections()
	testkit.Await(t, "no goroutine is left", func(context.Context) error { return goleak.Find(before) })
}
