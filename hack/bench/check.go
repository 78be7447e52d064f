package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/bench/workload"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

// recordFile is the file with the figures that check compares with, relative to the root of the checkout.
const recordFile = "hack/bench/recorded.json"

// The size of what check measures.
const (
	checkBurst  = 60
	checkRounds = 4
	checkCounts = 10
	// checkBursts is how many bursts of checkRounds are measured at most: more than one only while a figure is worse than it may be, because
	// other work on the machine makes some rounds worse, and a regression makes all of them worse.
	checkBursts = 3
)

// limit says which figures are recorded, and by how much each may be worse. A machine that does other work at the same time changes times
// most, and requests hardly:
//
//   - Requests are counted. One more for each custom resource is a regression, whatever part of all requests it is. Three of four custom
//     resources may need one more: a start or a change that takes long costs another write of the status. In a resync there is no such excuse.
//   - CPU time does not count what a process waits for. What it counts grows when others use the same caches of the processor, so it is
//     compared with that of the API server and of the bare client in the same pair of rounds, and the median of all pairs counts.
//   - The throughput against the bare client has the widest spread: it counts with its best pair of rounds, and finds what waits too long.
func limit(workload, figure string) (figures.Limit, bool) {
	switch figure {
	case scenario.Reads, scenario.Writes:
		if workload == scenario.ResyncCalls {
			return figures.Limit{}, true
		}
		return figures.Limit{Number: 0.75}, true
	case scenario.CPUShare, scenario.ServerCPU, scenario.AllCPU, scenario.Throughput:
		return figures.Limit{Part: 0.2}, true
	}
	return figures.Limit{}, false
}

func check() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Measure a little, and fail if it is worse than " + recordFile, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			content, err := os.ReadFile(filepath.Join(root, recordFile))
			if err != nil {
				return fmt.Errorf("read what is recorded: %w: make it with `make bench-record`", err)
			}
			var recorded []figures.Recorded
			if err := json.Unmarshal(content, &recorded); err != nil {
				return fmt.Errorf("%s is damaged: %w: make it anew with `make bench-record`", recordFile, err)
			}
			results, err := short(cmd, recorded)
			if err != nil {
				return err
			}
			cmd.Print(figures.Report(results).Comparison(recorded))
			return figures.Compare(recorded, results)
		},
	}
}

func record() *cobra.Command {
	return &cobra.Command{
		Use: "record", Short: "Measure what check measures, and write it to " + recordFile, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := checkout.Root()
			if err != nil {
				return err
			}
			results, err := short(cmd, nil)
			if err != nil {
				return err
			}
			recorded := figures.Record(results, limit)
			content, err := json.MarshalIndent(recorded, "", "  ")
			if err != nil {
				return err
			}
			cmd.Print(figures.Report(results).Comparison(recorded))
			return os.WriteFile(filepath.Join(root, recordFile), append(content, '\n'), 0o644)
		},
	}
}

// short measures what is compared with recorded, or what is to be recorded.
func short(cmd *cobra.Command, recorded []figures.Recorded) (results []figures.Result, err error) {
	err = withBench(cmd, false, func(bench *scenario.Bench) error {
		burst, err := shortBurst(cmd.Context(), bench, recorded)
		if err != nil {
			return err
		}
		counts, err := bench.Counts(cmd.Context(), workload.Kinds(), checkCounts)
		if err != nil {
			return fmt.Errorf("count requests: %w", err)
		}
		results = append([]figures.Result{burst}, counts...)
		return nil
	})
	return results, err
}

func shortBurst(ctx context.Context, bench *scenario.Bench, recorded []figures.Recorded) (burst figures.Result, err error) {
	plan := scenario.Plan{Kind: workload.Deployment, Size: checkBurst, Rounds: checkRounds}
	burst = figures.Result{Workload: "short burst", Kind: plan.Kind.Name, Size: plan.Size}
	recorded = slices.DeleteFunc(slices.Clone(recorded), func(r figures.Recorded) bool { return r.Workload != burst.Workload })
	var all []scenario.Pair
	for range checkBursts {
		pairs, err := bench.Burst(ctx, plan)
		if err != nil {
			return burst, err
		}
		all = append(all, pairs...)
		burst.Figures = scenario.Compared(all)
		if figures.Compare(recorded, []figures.Result{burst}) == nil {
			break
		}
	}
	return burst, nil
}
