// Package manager puts together what runs in the operator's process: the controllers, what they share, and what runs beside
// them. It is the one list of these; the program and the tests of the controllers both use it. What a controller does belongs
// in the folder of its kind.
package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/pod-security-admission/api"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	application "github.com/example/memcached-operator/operator/application/controller"
	"github.com/example/memcached-operator/operator/kube/apply"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/kube/report"
	"github.com/example/memcached-operator/operator/kube/slim"
	memcached "github.com/example/memcached-operator/operator/memcached/controller"
	"github.com/example/memcached-operator/operator/memcached/executor"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/metrics"
	"github.com/example/memcached-operator/operator/monitoring"
	"github.com/example/memcached-operator/operator/olmcondition"
)

// The manager's own permissions; those of each controller stand beside it.
//
//   - tokenreviews and subjectaccessreviews: the metrics endpoint asks the API server who is calling, and whether they
//     may read metrics.
//   - leases: leader election. create cannot be limited to a name.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=memcached-operator-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=memcached-operator-system,resources=leases,resourceNames=memcached-operator-leader,verbs=get;update

// leaderElectionID is the name of the Lease that the leading replica holds.
const leaderElectionID = "memcached-operator-leader"

// secretRecheck is the default of Options.SecretRecheck: a Secret is put back within ten minutes.
const secretRecheck = 9 * time.Minute

// shutdownTimeout is how long running reconciles may take to end. It is below the 10 seconds that the pod is given.
const shutdownTimeout = 8 * time.Second

// Options are what a manager can be told.
type Options struct {
	// LeaderElection lets one replica at a time do the work.
	LeaderElection bool

	// MetricsAddress serves metrics over HTTPS, for example ":8443"; "0" turns it off.
	MetricsAddress string

	// HealthAddress serves /healthz and /readyz, for example ":8081"; "0" turns it off.
	HealthAddress string

	// Namespace is that of the operator's pod; empty outside a pod.
	Namespace string

	// OperatorCondition is where the operator tells OLM whether it can be upgraded. Its name is empty outside OLM.
	OperatorCondition client.ObjectKey

	// Images are what caches run.
	Images inputs.Images

	// ServiceAnnotations are what Memcacheds may have in spec.service.annotations. Default: everything.
	ServiceAnnotations inputs.AllowedAnnotations

	// PodSecurity is the level of the pod security standards that the pods of Applications have to meet. Default: baseline.
	PodSecurity api.Level

	// Logger takes what the manager and its controllers log.
	Logger logr.Logger

	// Metrics takes the operator's own metrics.
	Metrics prometheus.Registerer

	// Work remembers what an upgrade of the operator should wait for. Default: a new tracker.
	Work *olmcondition.Tracker

	// WatchNamespaces limits what the manager watches, so that tests can run side by side. Default: all namespaces.
	WatchNamespaces []string

	// SecretRecheck is how long a Secret that the operator made is not read, because it is not watched. Default: nine minutes.
	SecretRecheck time.Duration

	// AgentStates asks the agents of pods for the state of their memcached, by the name of the pod. Default: over the network.
	AgentStates func(context.Context, []corev1.Pod) map[string]*agentapi.State

	// Clock tells the time to all that runs in the manager; who leads does not depend on it. Default: that of the machine.
	Clock clock.WithTicker

	// NewClient makes the manager's client. Default: that of controller-runtime.
	NewClient client.NewClientFunc
}

// New returns a manager with everything that runs in it. Nothing is started.
func New(restConfig *rest.Config, options Options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, operatorsv2.AddToScheme, appv1alpha1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	// The API server's priority and fairness decides how much we may ask of it; a limit here would only slow us down.
	restConfig.QPS = -1
	mgr, err := manager.New(restConfig, manager.Options{
		Scheme:                        scheme,
		Logger:                        options.Logger,
		Cache:                         caches(options.WatchNamespaces),
		NewCache:                      slim.NewCache(owned.LabelInstance, inputs.CacheLabel),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		NewClient:                     options.NewClient,
		Controller:                    config.Controller{SkipNameValidation: ptr.To(len(options.WatchNamespaces) > 0)},
		Metrics:                       metricsServer(options.MetricsAddress),
		HealthProbeBindAddress:        options.HealthAddress,
		LeaderElection:                options.LeaderElection,
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
	return mgr, addAll(mgr, options)
}

// addAll adds the controllers, and what runs beside them.
func addAll(mgr manager.Manager, options Options) error {
	own, err := metrics.Register(options.Metrics, mgr.GetCache())
	if err != nil {
		return fmt.Errorf("add our metrics: %w", err)
	}
	if options.SecretRecheck == 0 {
		options.SecretRecheck = secretRecheck
	}
	if options.AgentStates == nil {
		options.AgentStates = (&inputs.Agents{Fetch: agentapi.Fetch}).States
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Work == nil {
		options.Work = olmcondition.NewTracker(options.Clock)
	}
	if options.OperatorCondition.Name != "" {
		if err := addOLMCondition(mgr, options, own); err != nil {
			return err
		}
	}
	if err := (&monitoring.Installer{Namespace: options.Namespace, Clock: options.Clock}).SetUp(mgr); err != nil {
		return err
	}
	return addControllers(mgr, options, own)
}

// addControllers adds the controller of each kind.
func addControllers(mgr manager.Manager, options Options, own *metrics.Metrics) error {
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the discovery client: %w", err)
	}
	features := &inputs.FeatureReader{Discovery: discoverer, Clock: options.Clock}
	applier := apply.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetClient(), mgr.GetScheme(), options.SecretRecheck)
	applier.Clock = options.Clock
	//nolint:staticcheck // The older event API, which leader election needs as well: one permission instead of two, and one that
	// tools which check bundles do not take for the removed events.k8s.io/v1beta1.
	recorder := mgr.GetEventRecorderFor(owned.Manager)
	reporter := func(kind string) *report.Reporter {
		return &report.Reporter{Kind: kind, Client: mgr.GetClient(), Recorder: recorder, Metrics: own, Work: options.Work, Clock: options.Clock}
	}
	for _, controller := range []interface{ SetUp(manager.Manager) error }{
		&memcached.Reconciler{
			Client: mgr.GetClient(), Applier: applier, Reporter: reporter(v1alpha1.MemcachedKind), Clock: options.Clock,
			Inputs: &inputs.Reader{
				Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Images: options.Images, Features: features.Get,
				ServiceAnnotations: options.ServiceAnnotations,
			},
			States:   options.AgentStates,
			Executor: &executor.Executor{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		},
		&application.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Applier: applier, Reporter: reporter(appv1alpha1.ApplicationKind),
			Clock: options.Clock, PodSecurity: options.PodSecurity,
		},
	} {
		if err := controller.SetUp(mgr); err != nil {
			return err
		}
	}
	return nil
}

// addOLMCondition adds what tells OLM whether the operator can be upgraded.
func addOLMCondition(mgr manager.Manager, options Options, own *metrics.Metrics) error {
	// Not the manager's own client: that reads through a cache, which needs to list and watch, and OLM grants neither.
	direct, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return fmt.Errorf("create the client for the OperatorCondition: %w", err)
	}
	return (&olmcondition.Reporter{
		Key: options.OperatorCondition, Client: direct, Work: options.Work, Gauge: own.Upgradeable, Clock: options.Clock,
		List:     func(ctx context.Context) ([]olmcondition.Object, error) { return tracked(ctx, mgr.GetClient()) },
		Recorder: mgr.GetEventRecorderFor(owned.Manager), //nolint:staticcheck // As in addControllers.
	}).SetUp(mgr)
}

// tracked returns all objects whose rollouts the controllers report to OLM.
func tracked(ctx context.Context, reader client.Reader) ([]olmcondition.Object, error) {
	var tracked []olmcondition.Object
	for kind, list := range map[string]client.ObjectList{
		v1alpha1.MemcachedKind: &v1alpha1.MemcachedList{}, appv1alpha1.ApplicationKind: &appv1alpha1.ApplicationList{},
	} {
		if err := reader.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list all objects of the kind %s: %w", kind, err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil && object.GetDeletionTimestamp().IsZero() {
				tracked = append(tracked, olmcondition.Object{
					Kind: kind, NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
				})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return tracked, nil
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

// Run runs a manager until ctx ends and everything has ended that it runs, but not longer than that may take: controller-runtime never ends a
// manager whose caches could not be read (https://github.com/kubernetes-sigs/controller-runtime/pull/3440).
func Run(ctx context.Context, mgr manager.Manager) error {
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(shutdownTimeout + time.Second):
		return nil
	}
}
