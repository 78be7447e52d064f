// Package cluster brings the local cluster up and down: it holds the list of steps and runs it. How each part is built,
// configured and run is in the package of that part.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Options select what is brought up.
type Options struct {
	// Nodes is the number of nodes. 0 stands for those that the cluster has, or two if it is down.
	Nodes int
	// WithoutOLM brings up a cluster without OLM, so that another program can install it.
	WithoutOLM bool
	// WithOLMv1 also brings up OLM v1. It and OLM do not disturb each other.
	WithOLMv1 bool
	// WithNetworkPolicies also enforces NetworkPolicies.
	WithNetworkPolicies bool
	// WithSDK also builds operator-sdk and provides the images that its commands use.
	WithSDK bool
}

// everything selects all that the cluster can have, as it may run.
var everything = Options{WithOLMv1: true, WithNetworkPolicies: true}

// Cluster is the local cluster, whether it runs or not.
type Cluster struct {
	Layout     host.Layout
	builder    build.Builder
	supervisor *process.Supervisor
	report     *Reporter
	// exited cancels the other steps when a component exits.
	exited context.CancelCauseFunc
}

// defaultNodes is the number of nodes of a new cluster. A drain, for example, needs two.
const defaultNodes = 2

// New returns the cluster of the layout. It reports progress to out.
func New(l host.Layout, out io.Writer) *Cluster {
	return &Cluster{
		Layout:     l,
		builder:    build.Builder{Tools: l.Tools(), Bin: l.Bin()},
		supervisor: &process.Supervisor{Run: l.Cluster("run"), Logs: l.Cluster("logs"), Mark: l.Cluster()},
		report:     NewReporter(out),
		exited:     func(error) {},
	}
}

// Up brings the cluster up. If it is up already, Up checks every part and returns quickly. It repairs what is left of a
// broken run, or removes it and starts again. After a failure nothing runs.
func (c *Cluster) Up(ctx context.Context, options Options) error {
	if err := c.preflight(); err != nil {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	earlier, err := c.supervisor.Marked()
	if err != nil {
		return fmt.Errorf("look for an earlier run: %w", err)
	}
	if options.WithoutOLM && c.hasOLM(ctx) {
		return errors.New("the running cluster has OLM: take it down first (make cluster-down), or uninstall OLM")
	}
	if options.WithNetworkPolicies {
		if err := host.CheckFilters(c.filtersRecord()); err != nil {
			return err
		}
	}
	nodes, err := c.nodes(options.Nodes)
	if err != nil {
		return err
	}
	tasks, err := c.missing(options)
	if err != nil {
		return err
	}
	folders, err := c.folders()
	if err != nil {
		return err
	}
	steps := c.steps(folders, nodes, options)
	c.report.Expect(steps.CountUp())
	if err := c.perform(ctx, tasks); err != nil {
		return err
	}
	return c.bringUp(ctx, steps, len(earlier) > 0)
}

// bringUp runs the steps. If that fails on what is left of an earlier run, it removes that and runs them again.
func (c *Cluster) bringUp(ctx context.Context, steps Steps, earlier bool) error {
	err := c.attempt(ctx, steps)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && earlier {
		return errors.New("interrupted: the processes of the earlier run still run")
	}
	if ctx.Err() == nil && earlier {
		c.report.Logf("the earlier run cannot be repaired (%v): starting again", err)
		if err := c.teardown(); err != nil {
			return fmt.Errorf("remove the earlier run: %w", err)
		}
		c.report.Expect(steps.CountUp())
		if err = c.attempt(ctx, steps); err == nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	c.report.Logf("taking down what was started")
	return errors.Join(err, c.teardown())
}

// attempt runs the steps once. If a component exits, it returns the error of that component.
func (c *Cluster) attempt(ctx context.Context, steps Steps) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.exited = cancel
	err := steps.Up(ctx, c.report)
	if err != nil && errors.Is(err, context.Canceled) && !errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// Down removes everything that Up made, except what takes long to make again: tools, packages and images.
func (c *Cluster) Down() error {
	if os.Geteuid() != 0 {
		return errors.New("the local cluster belongs to root: run this with sudo -E")
	}
	if _, err := os.Stat(c.Layout.Cluster()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return c.teardown()
}

// teardown cannot be interrupted: it takes seconds, and half of it is of no use.
func (c *Cluster) teardown() error {
	return c.steps(nil, host.Nodes, everything).Down(context.Background())
}

// nodes returns the nodes to bring up.
func (c *Cluster) nodes(wanted int) ([]host.Node, error) {
	if wanted < 0 || wanted > len(host.Nodes) {
		return nil, fmt.Errorf("the cluster cannot have %d nodes: choose 1 to %d", wanted, len(host.Nodes))
	}
	has := 0
	for i, n := range host.Nodes {
		if c.supervisor.Recorded(n.Kubelet()) { // One that was killed is part of the cluster, too.
			has = i + 1
		}
	}
	switch {
	case wanted == 0 && has == 0:
		wanted = defaultNodes
	case wanted == 0:
		wanted = has
	case wanted < has:
		return nil, fmt.Errorf("the cluster has %d nodes: take it down first (make cluster-down)", has)
	}
	return host.Nodes[:wanted], nil
}

// preflight checks that the machine can run the cluster. It changes nothing.
func (c *Cluster) preflight() error {
	if err := debian.CompletePath(); err != nil {
		return err
	}
	disk := uint64(host.DiskToRun)
	for _, tool := range needed(Options{}) {
		missing, err := c.builder.Missing(tool)
		if err != nil {
			return err
		}
		if missing {
			disk = host.DiskToBuild
		}
	}
	return host.Check(c.Layout, disk, func(name string) bool {
		alive, err := c.supervisor.Alive(name)
		return err == nil && alive
	})
}

// lockPatience is how long a run waits for another one. Tests break parts of the cluster at the same time, which takes less than
// a second each.
const lockPatience = 30 * time.Second

// lock prevents a second run of this program until unlock is called.
func (c *Cluster) lock() (unlock func(), err error) {
	for _, folder := range []string{c.Layout.Cluster(), c.supervisor.Run, c.supervisor.Logs} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("make the cluster's folders: %w", err)
		}
	}
	file, err := os.OpenFile(c.Layout.Cluster("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	const often = 50 * time.Millisecond
	err = wait.PollUntilContextTimeout(context.Background(), often, lockPatience, true, func(context.Context) (bool, error) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) {
		err = fmt.Errorf("another run works on the cluster in %s: wait until it ends", c.Layout.Cluster())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the lock: %w", err), file.Close())
	}
	return func() { file.Close() }, nil
}

// errDown is returned by commands that need a running cluster.
var errDown = errors.New("the local cluster is not up: run `make cluster`")

// Running returns nil when the cluster's API server runs.
func (c *Cluster) Running() error {
	alive, err := c.supervisor.Alive("kube-apiserver")
	if err == nil && !alive {
		return errDown
	}
	return err
}
