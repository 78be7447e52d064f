// Package scenario runs the workloads of the benchmark: each is a function from a running API server to figures.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/example/memcached-operator/hack/bench/apiserver"
	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/kubelet"
	"github.com/example/memcached-operator/hack/bench/workload"
)

// OperatorCommand and BareCommand are the first arguments that make this program the operator or the bare client. A kubeconfig follows.
const (
	OperatorCommand = "operator"
	BareCommand     = "bare"
)

// Bench is a running API server with all that plays a part in the benchmark.
type Bench struct {
	Server  *apiserver.Server
	tracker *tracker
	cache   cache.Cache
	options Options

	authority *workload.Authority
	templates map[string]*workload.Templates
	namespace int
	stop      func() error
}

// Options are what a run can be told.
type Options struct {
	// Root is the root of the checkout.
	Root string

	// Directory takes logs and profiles.
	Directory string

	// Progress takes a line from time to time.
	Progress io.Writer

	// Profile makes the operator write profiles of its processor time in bursts.
	Profile bool
}

// Start starts the API server, and what stands in for Kubernetes' controllers and kubelets.
func Start(ctx context.Context, options Options) (_ *Bench, err error) {
	b := &Bench{options: options, templates: map[string]*workload.Templates{}}
	if err := os.MkdirAll(options.Directory, 0o755); err != nil {
		return nil, err
	}
	b.say("starting the API server")
	if b.Server, err = apiserver.Start(ctx, options.Root); err != nil {
		return nil, err
	}
	b.stop = b.Server.Stop
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	if b.authority, err = workload.NewAuthority(); err != nil {
		return nil, err
	}
	mgr, err := kubelet.New(b.Server.Config, b.Server.Scheme)
	if err != nil {
		return nil, err
	}
	b.cache = mgr.GetCache()
	if b.tracker, err = newTracker(ctx, b.cache); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	b.stop = func() error {
		cancel()
		return errors.Join(<-ended, b.Server.Stop())
	}
	if !b.cache.WaitForCacheSync(ctx) {
		return nil, errors.New("the harness cannot watch the API server")
	}
	return b, nil
}

// Stop stops everything.
func (b *Bench) Stop() error { return b.stop() }

func (b *Bench) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(b.options.Progress, format+"\n", arguments...)
}

// startOperator starts the operator as a process. further are arguments after the kubeconfig.
func (b *Bench) startOperator(ctx context.Context, further ...string) (*child.Child, error) {
	return b.start(ctx, OperatorCommand, append([]string{b.Server.OperatorKubeconfig}, further...)...)
}

// startBare starts the bare client as a process, and tells it what to write.
func (b *Bench) startBare(ctx context.Context, templates *workload.Templates) (*child.Child, error) {
	bare, err := b.start(ctx, BareCommand, b.Server.BareKubeconfig)
	if err != nil {
		return nil, err
	}
	if err := bare.Call("Bare.Learn", templates, &child.Nothing{}); err != nil {
		bare.Stop()
		return nil, err
	}
	return bare, nil
}

func (b *Bench) start(ctx context.Context, command string, arguments ...string) (*child.Child, error) {
	log, err := os.OpenFile(filepath.Join(b.options.Directory, command+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // The child has a copy.
	return child.Start(ctx, log, append([]string{command}, arguments...)...)
}
