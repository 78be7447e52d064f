// Command operator is the manager: one process that runs every controller of the memcached operator. Its second command,
// agent, which runs beside each memcached, is another program (package agent/main), by which this one replaces itself. This package
// reads flags and environment; package manager puts the parts together.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/memcached-operator/operator/manager"
)

// version is set by the linker, for example -X main.version=0.1.0.
var version = "devel"

// options are what the flags say.
type options struct {
	manager.Options
	showVersion bool
}

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == agentCommand { // Before signals are handled: one that comes now is for the agent, too.
		err = becomeAgent(os.Args[2:], os.Environ())
	} else {
		err = run(signals.SetupSignalHandler(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "memcached-operator:", err)
		os.Exit(1)
	}
}

// run runs the manager until ctx ends.
func run(ctx context.Context, arguments, environ []string, stdout, stderr io.Writer) error {
	options, err := parse(arguments, stderr)
	if err != nil {
		return err
	}
	if options.showVersion {
		_, err := fmt.Fprintln(stdout, version)
		return err
	}
	options.Logger, options.Metrics = newLogger(stderr), metrics.Registry
	variables := readEnvironment(environ)
	if options.Images, err = variables.images(options.Logger); err != nil {
		return err
	}
	if options.ServiceAnnotations, err = variables.serviceAnnotations(); err != nil {
		return err
	}
	if options.PodSecurity, err = variables.podSecurity(); err != nil {
		return err
	}
	options.OperatorCondition = variables.operatorCondition(namespaceFile, options.Logger)
	options.Namespace = namespaceOf(namespaceFile)
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return fmt.Errorf("no cluster to work on: run in a pod, or set KUBECONFIG: %w", err)
	}
	config.UserAgent = "memcached-operator/" + version
	mgr, err := manager.New(config, options.Options)
	if err != nil {
		return err
	}
	useLogger(options.Logger)
	options.Logger.Info("Starting", "version", version, "memcachedImages", options.Images.Memcached,
		"memcachedVersion", options.Images.Default, "agentImage", options.Images.Agent)
	if err := manager.Run(ctx, mgr); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// parse reads the command line. The error says what is wrong with it.
func parse(arguments []string, stderr io.Writer) (options, error) {
	var options options
	flags := flag.NewFlagSet("memcached-operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Errors are printed once, by main, without the whole usage.
	flags.BoolVar(&options.LeaderElection, "leader-elect", false,
		"let one replica at a time do the work; for more than one replica, or rolling updates, inside a cluster")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", ":8443",
		"`address` that serves metrics over HTTPS; 0 turns it off")
	flags.StringVar(&options.HealthAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz; 0 turns it off")
	flags.BoolVar(&options.showVersion, "version", false, "print the version and exit")
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		_, _ = fmt.Fprintf(stderr, "The command %q runs beside memcached; %s --help lists its flags.\n", agentCommand, agentCommand)
		return options, err
	case err != nil:
		return options, fmt.Errorf("%w; --help lists all flags", err)
	case flags.NArg() > 0:
		return options, fmt.Errorf("unexpected argument %q; --help lists all flags", flags.Arg(0))
	}
	if _, err := os.Stat(namespaceFile); options.LeaderElection && err != nil {
		return options, errors.New("--leader-elect works only in a pod, whose namespace holds the Lease: leave it out")
	}
	return options, nil
}
