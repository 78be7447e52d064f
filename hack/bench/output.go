package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

// outputDirectory is where logs, profiles and results are kept. It is below the folder that the Makefile calls CACHE.
func outputDirectory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "memcached-operator", "bench"), nil
}

// report measures, prints a table and writes it with the figures of all rounds to files of a name.
func report(cmd *cobra.Command, name string, profile bool, measure measure) error {
	directory, err := outputDirectory()
	if err != nil {
		return err
	}
	var report figures.Report
	err = withBench(cmd, profile, func(bench *scenario.Bench) error {
		report, err = describe(cmd.Context(), bench) // First: the checkout may change meanwhile.
		if err != nil {
			return err
		}
		report.Results, err = measure(cmd.Context(), bench)
		return err
	})
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	table := report.Markdown()
	files := pictures(report)
	files[name+".json"], files[name+".md"] = content, []byte(table)
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(directory, file), content, 0o644); err != nil {
			return err
		}
	}
	cmd.Print(table)
	cmd.PrintErrf("written to %s: %s\n", directory, strings.Join(slices.Sorted(maps.Keys(files)), " "))
	return nil
}

// describe returns a report without results.
func describe(ctx context.Context, bench *scenario.Bench) (figures.Report, error) {
	root, err := checkout.Root()
	if err != nil {
		return figures.Report{}, err
	}
	head, err := checkout.ReadHead(ctx, root)
	if err != nil {
		return figures.Report{}, err
	}
	changes, err := checkout.Changes(ctx, root)
	if err != nil {
		return figures.Report{}, err
	}
	commit := head.Commit[:12]
	if len(changes) > 0 {
		commit += "+changes"
	}
	version, err := bench.Server.Version()
	return figures.Report{Commit: commit, Date: time.Now(), CPUs: runtime.NumCPU(), Go: runtime.Version(), Kubernetes: version}, err
}
