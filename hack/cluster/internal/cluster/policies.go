package cluster

import (
	"context"

	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/node"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// filtersRecord is the file that records whether the filters of network policies are ours.
func (c *Cluster) filtersRecord() string { return c.Layout.Cluster("run", "filters") }

// networkPolicies is the step that enforces NetworkPolicies. bin is the folder of the engine's program.
func (c *Cluster) networkPolicies(bin string, needs []string) Step {
	engine := node.NetworkPolicies(c.Layout, bin)
	started := c.filtersRecord()
	return Step{
		Name: "network policies", Process: engine, Needs: needs,
		Up: func(ctx context.Context) error {
			alive, err := c.supervisor.Alive(engine.Name)
			if err != nil {
				return err
			}
			if !alive {
				if err := host.AwaitFilters(started); err != nil {
					return err
				}
			}
			return c.start(engine)(ctx)
		},
		Down: func(context.Context) error {
			if err := c.supervisor.Stop(engine.Name, process.DefaultGrace); err != nil {
				return err
			}
			if err := debian.CompletePath(); err != nil {
				return err
			}
			return host.RemoveFilters(started)
		},
	}
}
