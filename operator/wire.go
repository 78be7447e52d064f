package main

import (
	"crypto/tls"
	"fmt"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/apply"
	application "github.com/example/memcached-operator/operator/controller/application"
	memcached "github.com/example/memcached-operator/operator/controller/memcached"
	"github.com/example/memcached-operator/operator/controller/report"
	"github.com/example/memcached-operator/operator/desired/meta"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/monitoring"
	"github.com/example/memcached-operator/operator/nodes/executor"
	"github.com/example/memcached-operator/operator/observe"
	"github.com/example/memcached-operator/operator/operatorcondition"
)

// The manager's own permissions; those of each controller stand beside it.
//
//   - tokenreviews and subjectaccessreviews: the metrics endpoint asks the API server who is calling, and whether they
//     may.
//   - leases: leader election. create cannot be limited to a name, so the role is limited to our namespace.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=memcached-operator-system,resources=leases,verbs=get;create;update

// leaderElectionID is the name of the Lease that the leading replica holds.
const leaderElectionID = "memcached-operator-leader"

// shutdownTimeout is how long running passes may take to end. It is below the 10 seconds that the pod is given.
const shutdownTimeout = 8 * time.Second

// wire builds the manager with everything that runs in it. Nothing is started.
func wire(config *rest.Config, options options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, operatorsv2.AddToScheme, appv1alpha1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	// The API server decides by priority and fairness how much we may ask of it; a limit here would only slow us down.
	config.QPS = -1
	mgr, err := manager.New(config, manager.Options{
		Scheme:                        scheme,
		Logger:                        options.logger,
		Cache:                         observe.Caches(),
		Metrics:                       metricsServer(options.metricsAddress),
		HealthProbeBindAddress:        options.healthAddress,
		LeaderElection:                options.leaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionReleaseOnCancel: true, // The process ends right after the manager does, which this needs.
		GracefulShutdownTimeout:       ptr.To(shutdownTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, fmt.Errorf("add a health check: %w", err)
		}
	}
	return mgr, controllers(mgr, options)
}

// controllers adds the controllers and what they share.
func controllers(mgr manager.Manager, options options) error {
	own, err := metrics.Register(ctrlmetrics.Registry, mgr.GetCache())
	if err != nil {
		return fmt.Errorf("add our metrics: %w", err)
	}
	// The older event API, which leader election needs as well: one permission instead of two, and one that tools which
	// check bundles do not take for the removed events.k8s.io/v1beta1.
	recorder := mgr.GetEventRecorderFor(meta.Manager) //nolint:staticcheck // See above.
	work := operatorcondition.NewTracker()
	if options.operatorCondition.Name != "" {
		if err := reports(mgr, options.operatorCondition, work, recorder, own); err != nil {
			return err
		}
	}
	if err := (&monitoring.Installer{Namespace: options.namespace, Clock: clock.RealClock{}}).SetUp(mgr); err != nil {
		return err
	}
	applier := apply.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetClient(), mgr.GetScheme())
	reporter := &report.Reporter{Client: mgr.GetClient(), Recorder: recorder}
	asks, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the client that asks what the cluster can do: %w", err)
	}
	features := &observe.Features{Discovery: asks, Clock: clock.RealClock{}}
	reader := &observe.Memcached{Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Images: options.images, Features: features.Get}
	for _, controller := range []interface{ SetUp(manager.Manager) error }{
		&memcached.Reconciler{
			Client: mgr.GetClient(), Applier: applier, Reporter: reporter, Metrics: own, Work: work, Clock: clock.RealClock{},
			Observe: reader, States: observe.NewAgents().States, Executor: &executor.Executor{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		},
		&application.Reconciler{
			Client: mgr.GetClient(), Applier: applier, Reporter: reporter, Metrics: own, Work: work, Clock: clock.RealClock{},
		},
	} {
		if err := controller.SetUp(mgr); err != nil {
			return err
		}
	}
	return nil
}

// reports adds what tells OLM whether the operator can be upgraded.
func reports(
	mgr manager.Manager, key client.ObjectKey, work *operatorcondition.Tracker, recorder record.EventRecorder, own *metrics.Metrics,
) error {
	// Not the manager's own client: that reads through a cache, which needs to list and watch, and OLM grants neither.
	direct, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return fmt.Errorf("create the client for the OperatorCondition: %w", err)
	}
	return (&operatorcondition.Reporter{
		Key: key, Client: direct, Work: work, Recorder: recorder, Gauge: own.Upgradeable, Clock: clock.RealClock{},
	}).SetUp(mgr)
}

// metricsServer serves metrics over HTTPS to those whom the API server lets read them.
func metricsServer(address string) server.Options {
	return server.Options{
		BindAddress:    address,
		SecureServing:  true,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		// HTTP/2 is off because a client can make its server work with streams that it resets at once (CVE-2023-44487).
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	}
}
