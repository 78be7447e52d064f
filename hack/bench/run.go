package main

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/bench/workload"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

// measure measures one workload with its sizes, and hands on each result as soon as there is one.
type measure func(ctx context.Context, bench *scenario.Bench, emit emit) error

// emit takes a result.
type emit func(figures.Result) error

// settings are the flags of a workload.
type settings struct {
	kinds   []string
	sizes   []int
	rounds  int
	pods    int32
	others  int
	profile bool
}

// one is a workload that a command measures.
type one struct {
	name, short string
	// defaults are those of its flags.
	defaults settings
	measure  func(settings) (measure, error)
}

func run() *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "Measure one workload, or all of them"}
	to := cmd.PersistentFlags().String("to", "", "directory for the table, the figures and the pictures (default: bench in the cache of the project)")
	for _, one := range workloads() {
		set := one.defaults
		sub := &cobra.Command{Use: one.name, Short: one.short, Args: cobra.NoArgs}
		sub.Flags().StringSliceVar(&set.kinds, "kind", set.kinds, "deployment, statefulset, application")
		sub.Flags().IntSliceVar(&set.sizes, "size", set.sizes, "numbers of custom resources")
		sub.Flags().IntVar(&set.rounds, "rounds", set.rounds, "number of rounds")
		sub.Flags().Int32Var(&set.pods, "pods", set.pods, "pods of each custom resource; -1 for the usual number of its kind")
		sub.Flags().IntVar(&set.others, "others", set.others, "number of unrelated objects of each kind, or of failing custom resources")
		sub.Flags().BoolVar(&set.profile, "profile", false, "write profiles of the operator")
		sub.RunE = func(cmd *cobra.Command, _ []string) error {
			measure, err := one.measure(set)
			if err != nil {
				return err
			}
			return report(cmd, *to, set.profile, measure)
		}
		cmd.AddCommand(sub)
	}
	cmd.AddCommand(&cobra.Command{Use: "all", Short: "Measure all workloads", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return report(cmd, *to, false, everything)
	}})
	return cmd
}

// everything measures all workloads as their flags are by default.
func everything(ctx context.Context, bench *scenario.Bench, emit emit) error {
	for _, one := range workloads() {
		measure, err := one.measure(one.defaults)
		if err != nil {
			return err
		}
		if err := measure(ctx, bench, emit); err != nil {
			return err
		}
	}
	return nil
}

// plans returns a plan for each kind and size.
func (s settings) plans() ([]scenario.Plan, error) {
	var plans []scenario.Plan
	for _, name := range s.kinds {
		kind, err := workload.KindOf(name)
		if err != nil {
			return nil, err
		}
		if s.pods != usual {
			kind.Size = s.pods
		}
		for _, size := range s.sizes {
			plans = append(plans, scenario.Plan{Kind: kind, Size: size, Rounds: s.rounds, Settle: 1})
		}
	}
	if s.pods < usual || s.rounds < 1 || len(plans) == 0 {
		return nil, errors.New("--rounds has to be 1 or more, --pods 0 or more (or -1), and --kind and --size need a value")
	}
	return plans, nil
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
	if err := do(bench); err != nil && cmd.Context().Err() != nil {
		return errors.New("interrupted: everything that was started is stopped")
	} else if err != nil {
		return err
	}
	return nil
}
