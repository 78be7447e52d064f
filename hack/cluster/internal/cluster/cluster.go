// Package cluster puts the parts together: the list of steps that bring the local cluster up and, backwards, take it down.
// How each part is built, configured or run is said in the part's own package.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Options choose what is brought up.
type Options struct {
	// WithoutOLM leaves the cluster bare, for somebody else to install OLM.
	WithoutOLM bool
	// WithSDK also builds operator-sdk and provides the images that its commands use.
	WithSDK bool
}

// Cluster is the local cluster, up or not.
type Cluster struct {
	layout     host.Layout
	builder    build.Builder
	supervisor *process.Supervisor
	report     *Reporter
	// died is told of a component that ends while others are still coming up.
	died context.CancelCauseFunc
}

// New describes the cluster that belongs to the layout.
func New(l host.Layout, report *Reporter) *Cluster {
	return &Cluster{
		layout:  l,
		builder: build.Builder{Tools: l.Tools(), Bin: l.Bin()},
		supervisor: &process.Supervisor{
			Run: l.Cluster("run"), Logs: l.Cluster("logs"), Mark: l.Cluster(),
		},
		report: report,
	}
}

// Up brings the cluster up. On one that is up already it checks every part and returns quickly; what is left of a broken
// run is mended, or removed and started over. When it fails it leaves nothing running.
func (c *Cluster) Up(ctx context.Context, options Options) error {
	if err := c.preflight(); err != nil {
		return err
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	earlier, err := process.Marked(c.supervisor.Mark)
	if err != nil {
		return fmt.Errorf("look for an earlier run: %w", err)
	}
	if options.WithoutOLM {
		if err := c.refuseOLM(ctx); err != nil {
			return err
		}
	}
	tasks, err := c.missing(options)
	if err != nil {
		return err
	}
	have, err := c.tools()
	if err != nil {
		return err
	}
	c.report.Expect(len(tasks) + c.steps(have, options).Ups())
	if err := c.perform(ctx, tasks); err != nil {
		return err
	}
	if have, err = c.tools(); err != nil { // now with what was downloaded
		return err
	}
	return c.bringUp(ctx, c.steps(have, options), len(earlier) > 0)
}

// bringUp runs the steps. What an earlier run left is used where it is sound; where it is not, it is removed and all is started over.
func (c *Cluster) bringUp(ctx context.Context, steps List, earlier bool) error {
	err := c.attempt(ctx, steps)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && earlier {
		return errors.New("interrupted: what was running before was left alone")
	}
	if ctx.Err() == nil && earlier {
		c.report.Logf("what is left of an earlier run cannot be mended (%v): starting over", err)
		if err := c.teardown(); err != nil {
			return fmt.Errorf("clear what is left of an earlier run: %w", err)
		}
		c.report.Expect(steps.Ups())
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

// attempt runs the steps once. A component that dies ends it with that component's last words.
func (c *Cluster) attempt(ctx context.Context, steps List) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.died = cancel
	err := steps.Up(ctx, c.report)
	if err != nil && errors.Is(err, context.Canceled) && !errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// Down removes everything that Up made, but not what is slow to make again: tools, packages, images.
func (c *Cluster) Down(_ context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("the local cluster belongs to root: run this with sudo -E")
	}
	if _, err := os.Stat(c.layout.Cluster()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return c.teardown()
}

// teardown is not to be interrupted: it ends in seconds, and half of it helps nobody.
func (c *Cluster) teardown() error {
	return c.steps(tools{}, Options{}).Down(context.Background())
}

// preflight refuses a machine that cannot run the cluster, before anything is made.
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
	return host.Check(c.layout, disk, func(name string) bool {
		alive, err := c.supervisor.Alive(name)
		return err == nil && alive
	})
}

// lock keeps a second run of this program out until unlock is called.
func (c *Cluster) lock() (unlock func(), err error) {
	for _, folder := range []string{c.layout.Cluster(), c.supervisor.Run, c.supervisor.Logs} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("make the cluster's folders: %w", err)
		}
	}
	file, err := os.OpenFile(c.layout.Cluster("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another run is at work on the cluster in %s: wait for it to end", c.layout.Cluster())
		}
		return nil, fmt.Errorf("take the lock: %w", err)
	}
	return func() { file.Close() }, nil
}

// errDown is what a verb that needs the cluster answers when there is none.
var errDown = errors.New("the local cluster is not up: run `make cluster`")

// Running returns nil when the cluster's API server runs.
func (c *Cluster) Running() error {
	alive, err := c.supervisor.Alive("kube-apiserver")
	if err != nil {
		return err
	}
	if !alive {
		return errDown
	}
	return nil
}
