// Command mutation changes packages in small ways, one at a time, and runs their tests with each change: a change that no test notices shows
// what is not tested. The checkout stays as it is.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

// deciding are the packages that decide what happens to caches, and what may be in the catalog.
var deciding = []string{
	"./operator/memcached/update/...", "./operator/memcached/args", "./operator/memcached/desired/sizing", "./operator/memcached/status",
	"./operator/application/status", "./hack/graph",
}

func command() *cobra.Command {
	var sample int
	var least float64
	cmd := &cobra.Command{
		Use: "mutation [PACKAGE...]", Short: "Run the tests of packages with small changes of their code; by default those that decide", SilenceUsage: true,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if len(patterns) == 0 {
				patterns = deciding
			}
			packages, err := list(cmd.Context(), patterns)
			if err != nil {
				return err
			}
			cmd.Println("| package | changes | noticed | score |\n| --- | --- | --- | --- |")
			var all, noticed int
			var survivors []mutation
			for _, pkg := range packages {
				of, left, err := pkg.test(cmd.Context(), sample)
				if err != nil {
					return err
				}
				if of > 0 {
					cmd.Printf("| %s | %d | %d | %.1f %% |\n", pkg.ImportPath, of, of-len(left), 100*float64(of-len(left))/float64(of))
				}
				all, noticed, survivors = all+of, noticed+of-len(left), append(survivors, left...)
			}
			score := 100 * float64(noticed) / float64(max(1, all))
			cmd.Printf("| all | %d | %d | %.1f %% |\n", all, noticed, score)
			for _, survivor := range survivors {
				cmd.Println(survivor)
			}
			if score < least {
				return fmt.Errorf("%.1f %% of the changes were noticed, and at least %.1f %% have to be: test what the list above shows", score, least)
			}
			return nil
		},
	}
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("mutation:")
	cmd.Flags().IntVar(&sample, "sample", 0, "how many changes of each package to try, the same ones each time; 0 for all")
	cmd.Flags().Float64Var(&least, "least", 0, "fail if fewer percent are noticed")
	return cmd
}

// testedPackage is a package as `go list -json` shows it.
type testedPackage struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func list(ctx context.Context, patterns []string) (packages []testedPackage, err error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles"}, patterns...)...)
	var problems bytes.Buffer
	list.Stderr = &problems
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w: %s", err, bytes.TrimSpace(problems.Bytes()))
	}
	for decoder := json.NewDecoder(bytes.NewReader(output)); decoder.More(); {
		var pkg testedPackage
		if err := decoder.Decode(&pkg); err != nil {
			return nil, err
		}
		if len(pkg.TestGoFiles)+len(pkg.XTestGoFiles) > 0 {
			packages = append(packages, pkg)
		}
	}
	if len(packages) == 0 {
		err = fmt.Errorf("none of %s has tests", strings.Join(patterns, ", "))
	}
	return packages, err
}

// test returns how many changes were tried, and those that the package's own tests did not notice. Those that cannot be compiled do not count.
func (p testedPackage) test(ctx context.Context, sample int) (tried int, survivors []mutation, err error) {
	var all []mutation
	for _, file := range p.GoFiles {
		if strings.HasPrefix(file, "zz_generated") {
			continue
		}
		of, err := mutationsOf(filepath.Join(p.Dir, file))
		if err != nil {
			return 0, nil, err
		}
		all = append(all, of...)
	}
	if sample > 0 && len(all) > sample {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:sample]
	}
	work, results := make(chan mutation), make(chan result)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for m := range work {
				results <- p.try(ctx, m)
			}
		})
	}
	go func() {
		for _, m := range all {
			work <- m
		}
		close(work)
		workers.Wait()
		close(results)
	}()
	var errs []error
	for r := range results {
		errs = append(errs, r.err)
		if !r.compiled {
			continue
		}
		tried++
		if !r.noticed {
			survivors = append(survivors, r.mutation)
		}
	}
	slices.SortFunc(survivors, mutation.compare)
	return tried, survivors, errors.Join(errs...)
}

// result is what became of a mutation.
type result struct {
	mutation
	compiled, noticed bool
	err               error
}

// timeout is how long tests may take with a change. A loop that does not end is noticed by that.
const timeout = "120s"

func (p testedPackage) try(ctx context.Context, m mutation) result {
	r := result{mutation: m}
	directory, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return result{mutation: m, err: err}
	}
	defer func() { _ = os.RemoveAll(directory) }()
	content, err := m.apply()
	if err != nil {
		return result{mutation: m, err: err}
	}
	changed, overlay, program := filepath.Join(directory, "changed.go"), filepath.Join(directory, "overlay.json"), filepath.Join(directory, "test")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	if err != nil {
		return result{mutation: m, err: err}
	}
	if err := errors.Join(os.WriteFile(changed, content, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return result{mutation: m, err: err}
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s", "-overlay", overlay, "-o", program, p.ImportPath)
	if build.Run() != nil {
		return result{mutation: m, err: ctx.Err()} // Not every change can be compiled.
	}
	run := exec.CommandContext(ctx, program, "-test.failfast", "-test.short", "-test.timeout="+timeout)
	run.Dir = p.Dir
	r.compiled, r.noticed, r.err = true, run.Run() != nil, ctx.Err()
	return r
}
