package cluster

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/node"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

const (
	startTimeout = time.Minute
	stopGrace    = 10 * time.Second
)

// steps is the cluster, from the ground up. Down runs it backwards.
func (c *Cluster) steps(t tools, options Options) List {
	list := List{
		{Name: "certificates and configuration", Up: c.configure},
		{Name: "strays", Down: c.removeStrays},
		{Name: "network", Up: c.networkUp, Down: c.networkDown},
		{
			Name: "registry", Needs: []string{"certificates and configuration"},
			Up: c.start(c.registry), Down: c.stop("registry"),
		},
		{Name: "images of the cluster", Needs: []string{"registry"}, Up: c.pushImages(t, options)},
		{Name: "images of memcached", Needs: []string{"registry"}, Up: c.pushOperands(t)},
		{Name: "image of nginx", Needs: []string{"registry"}, Up: c.pushWebServer(t)},
		{
			Name: "etcd", Needs: []string{"certificates and configuration"},
			Up: c.start(spec(controlplane.Etcd(c.layout, t.kube), controlplane.EtcdReady)), Down: c.removeEtcd,
		},
		{
			Name: "API server", Needs: []string{"etcd", "network"},
			Up: c.start(c.apiServer(t)), Down: c.stop("kube-apiserver"),
		},
		{
			Name: "controller manager", Needs: []string{"API server"},
			Up: c.start(spec(controlplane.ControllerManager(c.layout, t.kube), controlplane.ControllerManagerReady)), Down: c.stop("kube-controller-manager"),
		},
		{
			Name: "scheduler", Needs: []string{"API server"},
			Up: c.start(spec(controlplane.Scheduler(c.layout, t.kube), controlplane.SchedulerReady)), Down: c.stop("kube-scheduler"),
		},
		{
			Name: "DNS", Needs: []string{"API server"},
			Up: c.start(spec(controlplane.DNS(c.layout, t.coredns), controlplane.DNSReady)), Down: c.stop("coredns"),
		},
		{
			Name: "containerd", Needs: []string{"certificates and configuration"},
			Up: c.containerdUp, Down: c.containerdDown,
		},
		{
			Name: "kube-proxy", Needs: []string{"API server"},
			Up: c.start(spec(node.Proxy(c.layout, t.kube), node.ProxyReady)), Down: c.stop("kube-proxy"),
		},
		{
			Name: "node", Needs: []string{"API server", "containerd", "images of the cluster"},
			Up: c.start(c.kubelet(t)), Down: c.stop("kubelet"),
		},
	}
	if !options.WithoutOLM {
		list = append(list, c.olmSteps()...)
	}
	return list
}

func (c *Cluster) olmSteps() List {
	return List{
		{Name: "OLM's objects", Needs: []string{"API server"}, Up: c.applyOLM},
		{Name: "OLM", Needs: []string{"OLM's objects", "node", "kube-proxy", "controller manager", "scheduler", "DNS"}, Up: c.awaitOLM},
	}
}

// launch is a process and how to see that it is ready.
type launch func() (process.Spec, func(context.Context) error, error)

func spec(s process.Spec, ready func(context.Context) error) launch {
	return func() (process.Spec, func(context.Context) error, error) { return s, ready, nil }
}

// start makes a step's Up of a process. When the process dies later while other steps still run, they are cancelled.
func (c *Cluster) start(what launch) func(context.Context) error {
	return func(ctx context.Context) error {
		s, ready, err := what()
		if err != nil {
			return err
		}
		running, err := c.supervisor.Ensure(s)
		if err != nil {
			return err
		}
		if err := running.Await(ctx, startTimeout, ready); err != nil {
			return err
		}
		died := c.died
		go func() {
			select {
			case <-running.Exited():
				died(running.Death())
			case <-ctx.Done():
			}
		}()
		return nil
	}
}

// stop makes a step's Down of a process.
func (c *Cluster) stop(name string) func(context.Context) error {
	return func(context.Context) error { return c.supervisor.Stop(name, stopGrace) }
}

func (c *Cluster) registry() (process.Spec, func(context.Context) error, error) {
	s, err := registry.Process(c.layout)
	if err != nil {
		return s, nil, err
	}
	client, err := registry.NewClient(c.layout)
	if err != nil {
		return s, nil, err
	}
	return s, client.Ready, nil
}

func (c *Cluster) apiServer(t tools) launch {
	return func() (process.Spec, func(context.Context) error, error) {
		client, err := controlplane.NewClient(c.layout.Kubeconfig())
		if err != nil {
			return process.Spec{}, nil, err
		}
		return controlplane.APIServer(c.layout, t.kube), client.Ready, nil
	}
}

func (c *Cluster) kubelet(t tools) launch {
	return func() (process.Spec, func(context.Context) error, error) {
		client, err := controlplane.NewClient(c.layout.Kubeconfig())
		if err != nil {
			return process.Spec{}, nil, err
		}
		return node.Kubelet(c.layout, t.kube), node.Ready(client), nil
	}
}

func (c *Cluster) networkUp(context.Context) error {
	if err := host.SetKernel(c.layout.Cluster("run", "kernel.json")); err != nil {
		return err
	}
	if err := host.AddNetwork(); err != nil {
		return err
	}
	return host.OpenFirewall()
}

func (c *Cluster) networkDown(context.Context) error {
	return errors.Join(host.RemoveProxyTables(), host.CloseFirewall(), host.RemoveNetwork(), host.RestoreKernel(c.layout.Cluster("run", "kernel.json")))
}

// removeEtcd stops etcd and forgets what it stored: every cluster starts empty.
func (c *Cluster) removeEtcd(context.Context) error {
	if err := c.supervisor.Stop("etcd", stopGrace); err != nil {
		return err
	}
	return os.RemoveAll(c.layout.Cluster("etcd"))
}

// containerdUp starts containerd and, before the first kubelet, removes containers that an earlier run left in its records.
func (c *Cluster) containerdUp(ctx context.Context) error {
	err := c.start(func() (process.Spec, func(context.Context) error, error) {
		s, err := node.Containerd(c.layout)
		return s, node.ContainerdReady(c.layout), err
	})(ctx)
	if err != nil {
		return err
	}
	kubelet, err := c.supervisor.Alive("kubelet")
	if err != nil || kubelet {
		return err
	}
	return node.RemoveContainers(ctx, c.layout)
}

// containerdDown ends all containers, then containerd. Records of containers that cannot be removed now are removed by the next Up.
func (c *Cluster) containerdDown(ctx context.Context) error {
	if err := node.KillContainers(c.layout); err != nil {
		return err
	}
	alive, err := c.supervisor.Alive("containerd")
	if err != nil {
		return err
	}
	if alive {
		_ = node.RemoveContainers(ctx, c.layout)
	}
	return c.supervisor.Stop("containerd", stopGrace)
}

// removeStrays ends whatever still runs, then removes what only stopped processes let go of.
func (c *Cluster) removeStrays(context.Context) error {
	if err := c.supervisor.Sweep(); err != nil {
		return err
	}
	return node.RemoveFiles(c.layout)
}
