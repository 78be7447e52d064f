package node

import (
	"context"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// NetworkPolicies describes the network policy engine. One process serves the pods of all nodes, because they share one
// bridge. It is ready when its rules are in the kernel.
func NetworkPolicies(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "network-policies", Path: filepath.Join(bin, "network-policies"), Args: []string{
		"--kubeconfig=" + l.Kubeconfig(), "--node=" + host.Nodes[0].Name, "--service-cidr=" + host.ServiceCIDR,
	}, Files: []string{l.Kubeconfig()}, Ready: func(context.Context) error { return host.FiltersReady() }}
}
