package cluster

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/node"
	"github.com/example/memcached-operator/hack/cluster/internal/olmv1"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// steps lists the steps that bring the cluster up. Down runs them backwards, and needs no folders.
func (c *Cluster) steps(folders map[string]string, nodes []host.Node, options Options) Steps {
	l, kube := c.Layout, folders[build.Kube.Module]
	kernel := l.Cluster("run", "kernel.json")
	steps := Steps{
		{Name: "certificates and configuration", Up: func(context.Context) error { return c.configure(nodes) }},
		{Name: "leftovers", Down: c.removeLeftovers},
		{
			Name: "network",
			Up:   func(context.Context) error { return host.AddNetwork(kernel) },
			Down: func(context.Context) error { return host.RemoveNetwork(kernel) },
		},
		c.component("registry", registry.Process(l), "certificates and configuration"),
		{Name: "images of the cluster", Needs: []string{"registry"}, Up: c.pushImages(folders, options)},
		{Name: "images of memcached", Needs: []string{"registry"}, Up: c.pushMemcached},
		{Name: "image of nginx", Needs: []string{"registry"}, Up: c.pushNginx},
		{
			Name: "etcd", Process: controlplane.Etcd(l, kube), Needs: []string{"certificates and configuration"},
			Up: c.start(controlplane.Etcd(l, kube)), Down: c.removeEtcd,
		},
		c.component("API server", controlplane.APIServer(l, kube), "etcd", "network"),
		c.component("controller manager", controlplane.ControllerManager(l, kube), "API server"),
		c.component("scheduler", controlplane.Scheduler(l, kube), "API server"),
		c.component("DNS", controlplane.DNS(l, folders[build.CoreDNS.Module]), "API server"),
		c.component("kube-proxy", node.Proxy(l, kube), "API server"),
	}
	working := []string{"kube-proxy", "controller manager", "scheduler", "DNS"}
	for _, n := range nodes {
		steps = append(steps, c.containerd(n), c.kubelet(n, kube))
		working = append(working, n.Name)
	}
	if !options.WithoutOLM {
		steps = append(steps,
			Step{Name: "OLM's objects", Needs: []string{"API server"}, Up: c.applyOLM},
			Step{Name: "OLM", Needs: slices.Concat(working, []string{"OLM's objects"}), Up: c.awaitOLM})
	}
	if options.WithNetworkPolicies {
		steps = append(steps, c.networkPolicies(folders[build.NetworkPolicies.Module], working))
	}
	if options.WithOLMv1 {
		bin := folders[build.OLMv1.Module]
		steps = append(steps,
			Step{Name: "OLM v1's objects", Needs: []string{"API server"}, Up: c.applyOLMv1, Down: c.removeOLMv1},
			c.component("catalogd", olmv1.Catalogd(l, bin), "OLM v1's objects", "registry"),
			c.component("operator-controller", olmv1.OperatorController(l, bin), "catalogd"))
	}
	return steps
}

// component is a step that starts and stops a process.
func (c *Cluster) component(name string, spec process.Spec, needs ...string) Step {
	return Step{
		Name: name, Process: spec, Needs: needs, Up: c.start(spec),
		Down: func(context.Context) error { return c.supervisor.Stop(spec.Name, process.DefaultGrace) },
	}
}

// containerd is the step that starts the containerd of a node.
func (c *Cluster) containerd(n host.Node) Step {
	return Step{
		Name: "containerd of " + n.Name, Process: node.Containerd(c.Layout, n), Needs: []string{"certificates and configuration"},
		Up:   func(ctx context.Context) error { return c.startContainerd(ctx, n) },
		Down: func(ctx context.Context) error { return c.stopContainerd(ctx, n) },
	}
}

// kubelet is the step that starts the kubelet of a node.
func (c *Cluster) kubelet(n host.Node, bin string) Step {
	step := c.component(n.Name, node.Kubelet(c.Layout, n, bin), "API server", "containerd of "+n.Name, "images of the cluster")
	start := step.Up
	step.Up = func(ctx context.Context) error {
		if err := node.AddCgroup(n); err != nil {
			return err
		}
		return start(ctx)
	}
	return step
}

// start returns the Up of a step that starts a process. If the process exits while other steps run, they are cancelled.
func (c *Cluster) start(spec process.Spec) func(context.Context) error {
	return func(ctx context.Context) error {
		running, err := c.supervisor.Ensure(spec)
		if err != nil {
			return err
		}
		if err := running.Await(ctx, time.Minute, spec.Ready); err != nil {
			return err
		}
		exited := c.exited
		go func() {
			select {
			case <-running.Exited():
				exited(running.ExitError())
			case <-ctx.Done():
			}
		}()
		return nil
	}
}

// configure writes the certificates, the kubeconfigs and the configuration of every component.
func (c *Cluster) configure(nodes []host.Node) error {
	authority, err := controlplane.OpenAuthority(c.Layout.Cluster("pki"))
	if err != nil {
		return err
	}
	for _, certificate := range append(controlplane.Certificates(), olmv1.Certificate()) {
		if err := authority.Ensure(certificate); err != nil {
			return err
		}
	}
	if err := authority.ServiceAccountKey(); err != nil {
		return err
	}
	if err := authority.Bundle(c.Layout.TrustBundle()); err != nil {
		return err
	}
	users := []string{"admin", "controller-manager", "scheduler", "proxy"}
	for _, n := range nodes {
		users = append(users, n.Name)
	}
	for _, user := range users {
		if err := controlplane.WriteKubeconfig(c.Layout, user); err != nil {
			return err
		}
	}
	ofNodes, err := node.ConfigFiles(c.Layout, nodes)
	if err != nil {
		return err
	}
	for _, files := range []map[string]string{
		controlplane.ConfigFiles(c.Layout), registry.ConfigFiles(c.Layout), ofNodes, olmv1.ConfigFiles(c.Layout),
	} {
		for path, content := range files {
			if err := host.WriteFile(path, []byte(content), host.Public); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeEtcd stops etcd and deletes its data: every cluster starts empty.
func (c *Cluster) removeEtcd(context.Context) error {
	if err := c.supervisor.Stop("etcd", process.DefaultGrace); err != nil {
		return err
	}
	return os.RemoveAll(c.Layout.Cluster("etcd"))
}

// startContainerd starts the containerd of a node. If neither it nor the kubelet runs, it removes the containers that an earlier
// run left.
func (c *Cluster) startContainerd(ctx context.Context, n host.Node) error {
	running, err := c.anyAlive(n.Containerd(), n.Kubelet())
	if err != nil {
		return err
	}
	if err := c.start(node.Containerd(c.Layout, n))(ctx); err != nil || running {
		return err
	}
	return node.RemoveContainers(ctx, c.Layout, n)
}

// stopContainerd kills all containers of a node and stops its containerd. The next Up removes records of containers that stay now.
func (c *Cluster) stopContainerd(ctx context.Context, n host.Node) error {
	if err := node.KillContainers(c.Layout, n); err != nil {
		return err
	}
	alive, err := c.anyAlive(n.Containerd())
	if err != nil {
		return err
	}
	if alive {
		_ = node.RemoveContainers(ctx, c.Layout, n)
	}
	return c.supervisor.Stop(n.Containerd(), process.DefaultGrace)
}

// anyAlive reports whether one of the named processes runs.
func (c *Cluster) anyAlive(names ...string) (bool, error) {
	for _, name := range names {
		if alive, err := c.supervisor.Alive(name); err != nil || alive {
			return alive, err
		}
	}
	return false, nil
}

// removeLeftovers kills the remaining processes, and then removes the files that they used.
func (c *Cluster) removeLeftovers(context.Context) error {
	if err := c.supervisor.KillMarked(); err != nil {
		return err
	}
	return node.RemoveFiles(c.Layout)
}
