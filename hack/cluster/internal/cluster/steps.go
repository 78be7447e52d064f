package cluster

import (
	"context"
	"os"
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
func (c *Cluster) steps(folders map[string]string, options Options) Steps {
	l, kube := c.Layout, folders[build.Kube.Module]
	kernel := l.Cluster("run", "kernel.json")
	steps := Steps{
		{Name: "certificates and configuration", Up: c.configure},
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
			Name: "etcd", Needs: []string{"certificates and configuration"},
			Up: c.start(controlplane.Etcd(l, kube)), Down: c.removeEtcd,
		},
		c.component("API server", controlplane.APIServer(l, kube), "etcd", "network"),
		c.component("controller manager", controlplane.ControllerManager(l, kube), "API server"),
		c.component("scheduler", controlplane.Scheduler(l, kube), "API server"),
		c.component("DNS", controlplane.DNS(l, folders[build.CoreDNS.Module]), "API server"),
		{Name: "containerd", Needs: []string{"certificates and configuration"}, Up: c.startContainerd, Down: c.stopContainerd},
		c.component("kube-proxy", node.Proxy(l, kube), "API server"),
		c.component("node", node.Kubelet(l, kube), "API server", "containerd", "images of the cluster"),
	}
	if !options.WithoutOLM {
		steps = append(steps,
			Step{Name: "OLM's objects", Needs: []string{"API server"}, Up: c.applyOLM},
			Step{Name: "OLM", Needs: []string{"OLM's objects", "node", "kube-proxy", "controller manager", "scheduler", "DNS"}, Up: c.awaitOLM})
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
		Name: name, Needs: needs, Up: c.start(spec),
		Down: func(context.Context) error { return c.supervisor.Stop(spec.Name, process.DefaultGrace) },
	}
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
func (c *Cluster) configure(context.Context) error {
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
	for _, user := range []string{"admin", "controller-manager", "scheduler", "proxy", "node"} {
		if err := controlplane.WriteKubeconfig(c.Layout, user); err != nil {
			return err
		}
	}
	for _, files := range []map[string]string{
		controlplane.ConfigFiles(c.Layout), registry.ConfigFiles(c.Layout), node.ConfigFiles(c.Layout), olmv1.ConfigFiles(c.Layout),
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

// startContainerd starts containerd. Unless a kubelet runs, it removes the containers that an earlier run left.
func (c *Cluster) startContainerd(ctx context.Context) error {
	if err := c.start(node.Containerd(c.Layout))(ctx); err != nil {
		return err
	}
	kubelet, err := c.supervisor.Alive("kubelet")
	if err != nil || kubelet {
		return err
	}
	return node.RemoveContainers(ctx, c.Layout)
}

// stopContainerd kills all containers and stops containerd. The next Up removes records of containers that stay now.
func (c *Cluster) stopContainerd(ctx context.Context) error {
	if err := node.KillContainers(c.Layout); err != nil {
		return err
	}
	alive, err := c.supervisor.Alive("containerd")
	if err != nil {
		return err
	}
	if alive {
		_ = node.RemoveContainers(ctx, c.Layout)
	}
	return c.supervisor.Stop("containerd", process.DefaultGrace)
}

// removeLeftovers kills the remaining processes, and then removes the files that they used.
func (c *Cluster) removeLeftovers(context.Context) error {
	if err := c.supervisor.KillMarked(); err != nil {
		return err
	}
	return node.RemoveFiles(c.Layout)
}
