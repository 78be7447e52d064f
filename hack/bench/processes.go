package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/memcached-operator/hack/bench/bare"
	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/operator/manager"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// serveChild runs start in the background until the parent ends the connection, and answers the parent's calls meanwhile.
func serveChild(ctx context.Context, traffic *child.Traffic, start func(context.Context) error, ready func() error, receivers map[string]any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	served := make(chan error, 1)
	go func() {
		served <- child.Serve(child.Standard{Reader: os.Stdin, Writer: os.Stdout}, traffic, ready, receivers)
	}()
	select {
	case err := <-ended:
		return errors.Join(err, errors.New("it ended before it was told to"))
	case err := <-served:
		cancel()
		return errors.Join(err, <-ended)
	}
}

// runOperator runs the operator with the options of its program. The argument, if there is one, is the image of the agent.
func runOperator(ctx context.Context, kubeconfig string, arguments []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil))
	traffic := &child.Traffic{}
	config.Wrap(traffic.Wrap)
	config.UserAgent = "memcached-operator/" + project.Version
	images := inputs.Images{Memcached: map[string]string{}, Default: project.DefaultOperand, Agent: project.Tagged(project.OperatorImage, project.Version)}
	for _, operand := range project.Operands() {
		images.Memcached[operand.Version] = operand.Image
	}
	if len(arguments) > 0 {
		images.Agent = arguments[0]
	}
	mgr, err := manager.New(config, manager.Options{
		MetricsAddress: "0", HealthAddress: "0", Images: images, Logger: logger, Metrics: metrics.Registry,
	})
	if err != nil {
		return err
	}
	log.SetLogger(logger)
	klog.SetLogger(logger)
	return serveChild(ctx, traffic, mgr.Start, func() error {
		<-mgr.Elected()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return ctx.Err()
		}
		return nil
	}, nil)
}

// runBare runs the bare client.
func runBare(ctx context.Context, kubeconfig string, _ []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	traffic := &child.Traffic{}
	config.Wrap(traffic.Wrap)
	config.QPS = -1
	client, err := bare.New(ctx, config)
	if err != nil {
		return err
	}
	return serveChild(ctx, traffic, client.Run, func() error { return nil }, map[string]any{"Bare": client})
}
