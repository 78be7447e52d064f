package cluster

import (
	"context"
	"os"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/olmv1"
)

// applyOLMv1 applies OLM v1's objects, which need no pods.
func (c *Cluster) applyOLMv1(ctx context.Context) error {
	client, err := controlplane.NewClient(c.Layout.Kubeconfig())
	if err != nil {
		return err
	}
	module, err := c.builder.ModuleDir(ctx, build.OLMv1, build.OLMv1Module)
	if err != nil {
		return err
	}
	return olmv1.Install(ctx, client, c.Layout, module)
}

// removeOLMv1 removes what OLM v1 has unpacked. Its objects go with etcd.
func (c *Cluster) removeOLMv1(context.Context) error { return os.RemoveAll(olmv1.Folder(c.Layout)) }
