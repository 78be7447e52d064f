package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/node"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// What happens to clusters, for tests. The names are those of processes, or of nodes.

// Kill ends processes at once. A node loses its power: its processes and containers end, and what they had in memory is lost.
// Everything stays as it is until Start.
func (c *Cluster) Kill(names []string) error {
	return c.disturb(names, func(t target) error {
		if t.node == nil {
			return c.supervisor.Kill(t.processes[0].Name)
		}
		return c.losePower(*t.node)
	})
}

// losePower kills the kubelet first, so that it starts nothing again.
func (c *Cluster) losePower(n host.Node) error {
	return errors.Join(
		c.supervisor.Kill(n.Kubelet()), c.supervisor.Kill(n.Containerd()),
		c.supervisor.KillMarkedWith(node.Shims(c.Layout, n)), node.KillContainers(c.Layout, n), node.LosePower(c.Layout, n))
}

// Pause keeps processes from doing anything. Of a node it is the kubelet: the control plane does not hear of the node any more, while
// its containers run.
func (c *Cluster) Pause(names []string) error {
	return c.disturb(names, func(t target) error { return c.supervisor.Pause(t.last()) })
}

// Resume lets paused processes go on.
func (c *Cluster) Resume(names []string) error {
	return c.disturb(names, func(t target) error { return c.supervisor.Resume(t.last()) })
}

// Start starts processes that were killed, in the order in which they need each other, and returns when they are ready. Other runs may
// disturb the cluster meanwhile.
func (c *Cluster) Start(ctx context.Context, names []string) error {
	var started []process.Spec
	err := c.disturb(names, func(t target) error {
		for _, spec := range t.processes {
			if _, err := c.supervisor.Ensure(spec); err != nil {
				return err
			}
			started = append(started, spec)
		}
		return nil
	})
	for _, spec := range started {
		err = errors.Join(err, c.awaitStart(ctx, spec))
	}
	return err
}

// awaitStart waits until a process is ready. A kubelet ends, for example, if it starts while its containerd still looks for containers, so
// a process that has ended is started again, but not for ever: one that always ends has a cause that time does not remove.
func (c *Cluster) awaitStart(ctx context.Context, spec process.Spec) error {
	const patience, often, mostStarts, hopeful = 2 * time.Minute, 2 * time.Second, 5, 20 * time.Second
	starts, begun := 0, time.Now()
	var last error
	err := wait.PollUntilContextTimeout(ctx, often, patience, true, func(ctx context.Context) (bool, error) {
		running, err := c.ensure(spec)
		if err != nil {
			return false, err
		}
		if last = running.Await(ctx, patience, spec.Ready); last == nil {
			return true, nil
		}
		if starts++; starts >= mostStarts && time.Since(begun) > hopeful {
			return false, fmt.Errorf("%s ended after each of %d starts: %w", spec.Name, starts, last)
		}
		return false, nil
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// ensure starts a process, unless it runs or the cluster was taken down meanwhile.
func (c *Cluster) ensure(spec process.Spec) (*process.Process, error) {
	unlock, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !c.supervisor.Recorded(spec.Name) {
		return nil, errDown
	}
	return c.supervisor.Ensure(spec)
}

// target is what a name stands for.
type target struct {
	// node is the node with that name, if there is one.
	node *host.Node
	// processes are in the order in which they start.
	processes []process.Spec
}

// last is the name of the process that starts last: of a node it is the kubelet.
func (t target) last() string { return t.processes[len(t.processes)-1].Name }

// disturb does something with each target of a running cluster, in the order of the steps.
func (c *Cluster) disturb(names []string, do func(target) error) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	targets, err := c.targets(names)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := do(t); err != nil {
			return err
		}
	}
	return nil
}

// targets finds what the names stand for: what was brought up, whether it runs or was killed.
func (c *Cluster) targets(names []string) ([]target, error) {
	marked, err := c.supervisor.Marked()
	if err != nil {
		return nil, fmt.Errorf("look for the cluster: %w", err)
	}
	if len(marked) == 0 {
		return nil, errDown
	}
	folders, err := c.folders()
	if err != nil {
		return nil, err
	}
	var known []string
	var found []target
	add := func(name string, t target) {
		known = append(known, name)
		if slices.Contains(names, name) {
			found = append(found, t)
		}
	}
	specs := map[string]process.Spec{}
	for _, step := range c.steps(folders, host.Nodes, everything) {
		if spec := step.Process; c.supervisor.Recorded(spec.Name) {
			specs[spec.Name] = spec
			add(spec.Name, target{processes: []process.Spec{spec}})
		}
	}
	for _, n := range host.Nodes {
		if !c.supervisor.Recorded(n.Kubelet()) {
			continue
		}
		add(n.Name, target{node: &n, processes: []process.Spec{specs[n.Containerd()], specs[n.Kubelet()]}})
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("the cluster has no %q: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}
