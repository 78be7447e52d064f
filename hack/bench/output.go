package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/bench/figures"
	"github.com/example/memcached-operator/hack/bench/scenario"
	"github.com/example/memcached-operator/hack/internal/checkout"
)

// outputDirectory is where logs and profiles are kept, and figures, unless another directory is asked for. It is below the folder that the Makefile calls CACHE.
func outputDirectory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "memcached-operator", "bench"), nil
}

// figuresFile has the figures of all rounds, and tableFile the table.
const figuresFile, tableFile = "figures.json", "figures.md"

// output keeps what was measured in a directory: with each result, the table and the pictures are written anew, with all that was measured
// earlier.
type output struct {
	directory string
	origin    figures.Origin
	report    figures.Report
}

// report measures and prints the table of what was measured. directory is by default that of outputDirectory.
func report(cmd *cobra.Command, directory string, profile bool, measure measure) error {
	if directory == "" {
		var err error
		if directory, err = outputDirectory(); err != nil {
			return err
		}
	}
	var measured figures.Report
	err := withBench(cmd, profile, func(bench *scenario.Bench) error {
		output, err := open(cmd.Context(), bench, directory)
		if err != nil {
			return err
		}
		return measure(cmd.Context(), bench, func(result figures.Result) error {
			result.Origin = output.origin
			measured.Add(result)
			return output.add(result)
		})
	})
	if len(measured) > 0 {
		cmd.Print(measured.Markdown(goals()))
		cmd.PrintErrf("all figures, tables and pictures are in %s\n", directory)
	}
	return err
}

// open reads what was measured earlier.
func open(ctx context.Context, bench *scenario.Bench, directory string) (*output, error) {
	origin, err := describe(ctx, bench) // First: the checkout may change meanwhile.
	if err != nil {
		return nil, err
	}
	o := &output{directory: directory, origin: origin}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(directory, figuresFile)
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &o.report)
	}
	if err != nil {
		return nil, fmt.Errorf("%s has the figures of earlier runs, and cannot be read: %w: remove it", file, err)
	}
	return o, nil
}

// add adds a result to what was measured earlier, and writes everything.
func (o *output) add(result figures.Result) error {
	o.report.Add(result)
	content, err := json.MarshalIndent(o.report, "", "  ")
	if err != nil {
		return err
	}
	files := pictures(o.report)
	files[figuresFile], files[tableFile] = append(content, '\n'), []byte(o.report.Markdown(goals()))
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(o.directory, file), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the origin of what is measured.
func describe(ctx context.Context, bench *scenario.Bench) (figures.Origin, error) {
	root, err := checkout.Root()
	if err != nil {
		return figures.Origin{}, err
	}
	head, err := checkout.ReadHead(ctx, root)
	if err != nil {
		return figures.Origin{}, err
	}
	changes, err := checkout.Changes(ctx, root)
	if err != nil {
		return figures.Origin{}, err
	}
	commit := head.Commit[:12]
	if len(changes) > 0 {
		commit += "+changes"
	}
	version, err := bench.Server.Version()
	return figures.Origin{
		Commit: commit, Date: time.Now().UTC().Format(time.DateOnly), CPUs: runtime.NumCPU(), Go: runtime.Version(), Kubernetes: version,
	}, err
}
