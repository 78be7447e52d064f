package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/build"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/project"
	"github.com/example/memcached-operator/hack/release/stage"
)

// resultFile is written into the output directory, first of all and empty, so that the directory is known to be ours.
const resultFile = "stage.json"

// stageOptions are the flags of stage as they were given.
type stageOptions struct {
	registry, operands, out, builder string
	rename, withUnreleased           bool
}

func stageCommand() *cobra.Command {
	var o stageOptions
	cmd := &cobra.Command{
		Use:   "stage --registry HOST[/PATH]",
		Short: "Push every release and a catalog over them to a registry, and write manifests that install from there",
		Long: `Push every release and a catalog over them to a registry, and write manifests that install from there.

Program images are rebuilt from the commits of their releases and must have the recorded digests. Bundles come from
their frozen directories; only operand references are replaced, by --map. With --registry quay.io this publishes what
has been released.

DIR/olm receives the manifests to apply, DIR/stage.json what was pushed where.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStage(cmd, o) },
	}
	cmd.Flags().StringVar(&o.registry, "registry", "", "where to push: a host, with a path if need be")
	cmd.Flags().BoolVar(&o.rename, "rename", false, "the registry is no mirror of quay.io: let manifests name it")
	cmd.Flags().StringVar(&o.operands, "map", "", "JSON file that maps official operand images to the ones to run")
	cmd.Flags().BoolVar(&o.withUnreleased, "with-unreleased", false, "add the version under development after the releases")
	cmd.Flags().StringVar(&o.out, "out", "", "DIR (default: stage in the project's cache directory)")
	cmd.Flags().StringVar(&o.builder, "builder", "", "docker, podman or buildah (default: the first that works)")
	return cmd
}

func runStage(cmd *cobra.Command, o stageOptions) error {
	s, err := o.prepare(cmd.Context())
	if err != nil {
		return err
	}
	s.Say = func(format string, args ...any) { cmd.PrintErrf(format+"\n", args...) }
	s.Say("building with %s, pushing to %s", s.Builder.Engine.Name(), s.Registry.Host)
	if err := o.sayWhatIsMissing(cmd.Context(), s); err != nil {
		return err
	}
	result, err := s.Run(cmd.Context())
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	content = append(content, '\n')
	if err := os.WriteFile(filepath.Join(s.Out, resultFile), content, 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	cmd.Print(string(content))
	s.Say("install with: kubectl apply -f %s", filepath.Join(s.Out, "olm"))
	return nil
}

// prepare finds everything out that could keep staging from succeeding, before anything is built.
func (o stageOptions) prepare(ctx context.Context) (*stage.Stage, error) {
	if o.registry == "" {
		return nil, errors.New("no registry to push to: give --registry HOST[/PATH] (make: REGISTRY=HOST[/PATH]), one that the cluster can pull from")
	}
	if strings.Contains(o.registry, "://") {
		return nil, fmt.Errorf("--registry %s: leave out the scheme", o.registry)
	}
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	if o.out == "" {
		cache, err := oci.CacheDir()
		if err != nil {
			return nil, err
		}
		o.out = filepath.Join(cache, "stage")
	}
	operands, err := project.LoadStandIns(o.operands)
	if err != nil {
		return nil, err
	}
	s := &stage.Stage{
		Registry: project.Registry{Host: strings.TrimSuffix(o.registry, "/"), Rename: o.rename},
		Operands: operands, Out: o.out,
	}
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	b, err := build.Detect(ctx, o.builder)
	if err != nil {
		return nil, err
	}
	s.Builder = build.Builder{Root: root, Engine: b}
	if err := claim(o.out); err != nil {
		return nil, err
	}
	if o.withUnreleased {
		releases, err := record.Load(root)
		if err != nil {
			return nil, err
		}
		if releases.Find(project.Version) == nil {
			s.Unreleased = project.Version
		}
	}
	return s, nil
}

// sayWhatIsMissing warns somebody who expects to try out changes that no version contains yet.
func (o stageOptions) sayWhatIsMissing(ctx context.Context, s *stage.Stage) error {
	if !o.withUnreleased || s.Unreleased != "" {
		return nil
	}
	releases, err := record.Load(s.Builder.Root)
	if err != nil {
		return err
	}
	changed, err := checkout.Changed(ctx, s.Builder.Root, releases.Find(project.Version).Commit, "operator", "go.mod", "go.sum")
	if err != nil {
		return err
	}
	if changed {
		s.Say("the operator has changed since v%s was released; what is staged is the release. To try the changes, "+
			"raise Version in hack/project/project.go", project.Version)
	}
	return nil
}

// claim makes dir ours, unless it holds something that we have not put there: staging replaces what is in it.
func claim(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into --out: %w", err)
	}
	ours := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == resultFile })
	if len(entries) > 0 && !ours {
		return fmt.Errorf("--out %s holds files that staging has not put there: choose an empty or a new directory", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make --out: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, resultFile), nil, 0o644); err != nil {
		return fmt.Errorf("write into --out: %w", err)
	}
	return nil
}
