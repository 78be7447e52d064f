package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/bench/workload"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

func run() *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "Measure one workload, or all of them"}
	cmd.AddCommand(burst())
	return cmd
}

// withBench starts a benchmark, runs do and stops it.
func withBench(cmd *cobra.Command, profile bool, do func(*scenario.Bench) error) (err error) {
	logger := logr.Discard() // What matters is an error of a command.
	log.SetLogger(logger)
	klog.SetLogger(logger)
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	directory, err := outputDirectory()
	if err != nil {
		return err
	}
	bench, err := scenario.Start(cmd.Context(), scenario.Options{Root: root, Directory: directory, Progress: cmd.ErrOrStderr(), Profile: profile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bench.Stop()) }()
	return do(bench)
}

// outputDirectory is where logs, profiles and results are kept.
func outputDirectory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "memcached-operator", "bench"), nil
}

func burst() *cobra.Command {
	var kindName string
	var size, rounds int
	var profile bool
	cmd := &cobra.Command{Use: "burst", Short: "Create many custom resources at once", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&kindName, "kind", workload.Deployment.Name, "deployment, statefulset or application")
	cmd.Flags().IntVar(&size, "size", 100, "number of custom resources")
	cmd.Flags().IntVar(&rounds, "rounds", 5, "number of rounds")
	cmd.Flags().BoolVar(&profile, "profile", false, "write profiles of the operator")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		kind, err := workload.KindOf(kindName)
		if err != nil {
			return err
		}
		return withBench(cmd, profile, func(bench *scenario.Bench) error {
			_, err := bench.Burst(cmd.Context(), kind, size, rounds, 1)
			return err
		})
	}
	return cmd
}
