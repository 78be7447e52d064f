package cluster

import (
	"context"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/node"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// configure writes certificates, kubeconfigs and every component's configuration.
func (c *Cluster) configure(context.Context) error {
	authority, err := controlplane.OpenAuthority(c.layout.Cluster("pki"))
	if err != nil {
		return err
	}
	for _, leaf := range controlplane.Leaves() {
		if err := authority.Ensure(leaf); err != nil {
			return err
		}
	}
	if err := authority.ServiceAccountKey(); err != nil {
		return err
	}
	if err := authority.Bundle(c.layout.TrustBundle()); err != nil {
		return err
	}
	for _, user := range []string{"admin", "controller-manager", "scheduler", "proxy", "node"} {
		err := controlplane.WriteKubeconfig(c.layout.Cluster(user+".kubeconfig"), host.APIServer,
			c.layout.PKI("ca.crt"), c.layout.PKI(user+".crt"), c.layout.PKI(user+".key"))
		if err != nil {
			return err
		}
	}
	for _, write := range []func(host.Layout) error{
		controlplane.WriteConfig, controlplane.WriteDNS, registry.WriteConfig, node.WriteContainerd, node.WriteKubelet,
	} {
		if err := write(c.layout); err != nil {
			return err
		}
	}
	return nil
}
