// Command network-policies enforces NetworkPolicies by rules of iptables. It is the network policy controller of kube-router
// without the rest of kube-router, which routes and replaces kube-proxy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/cloudnativelabs/kube-router/v2/pkg/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig")
	node := flag.String("node", "", "name of a node that is this machine")
	services := flag.String("service-cidr", "", "addresses of services")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *kubeconfig, *node, *services)
	stop()
	if err != nil {
		klog.Exit(err)
	}
}

// run enforces NetworkPolicies until ctx ends. It leaves the rules in the kernel.
func run(ctx context.Context, kubeconfig, node, services string) error {
	client, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	config := options.NewKubeRouterConfig()
	config.EnableIPv4, config.EnableIPv6 = true, false
	config.HostnameOverride = node
	config.ClusterIPCIDRs = []string{services}
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := newController(client, config, factory)
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("read all %s: %w", kind, context.Cause(ctx))
		}
	}
	enforce(ctx, controller)
	return nil
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

// newController makes the controller, and registers it for every change of what it reads.
func newController(client kubernetes.Interface, config *options.KubeRouterConfig, factory informers.SharedInformerFactory) (*netpol.NetworkPolicyController, error) {
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return nil, err
	}
	pods, namespaces := factory.Core().V1().Pods().Informer(), factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	if err := placeOnOneNode(client, config.HostnameOverride, pods); err != nil {
		return nil, err
	}
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return nil, err
	}
	_, podErr := pods.AddEventHandler(controller.PodEventHandler)
	_, namespaceErr := namespaces.AddEventHandler(controller.NamespaceEventHandler)
	_, policyErr := policies.AddEventHandler(controller.NetworkPolicyEventHandler)
	return controller, errors.Join(podErr, namespaceErr, policyErr)
}

// placeOnOneNode changes the pods that the controller sees: all of them are on the node. The controller makes rules for the
// pods of its own node only, and all nodes of the cluster are this machine.
func placeOnOneNode(client kubernetes.Interface, name string, pods cache.SharedIndexInformer) error {
	node, err := utils.GetNodeObject(client, name)
	if err != nil {
		return err
	}
	address, err := utils.GetPrimaryNodeIP(node)
	if err != nil {
		return err
	}
	return pods.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.HostIP != "" {
			pod.Status.HostIP = address.String()
		}
		return object, nil
	})
}

// syncInterval is the least time between two syncs. Each reads and writes all rules with some twenty processes. In tests, pods come and go
// all the time, and syncs without a pause took a tenth of the CPU time that a cluster used, as did those with a pause of one second on a
// machine that is slow to start processes.
const syncInterval = 5 * time.Second

// enforce runs the controller until ctx ends.
func enforce(ctx context.Context, controller *netpol.NetworkPolicyController) {
	heartbeats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range heartbeats { // The controller sends one before each sync, and waits until it is received.
			<-time.After(syncInterval)
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(heartbeats, ctx.Done(), &running)
	running.Wait()
}
