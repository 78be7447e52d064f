package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// resultFile is the name of the result in the output directory. Its presence shows that stage created the directory.
const resultFile = "stage.json"

// stageOptions are the flags of stage.
type stageOptions struct {
	registry, operands, out, engine string
	rename, withUnreleased, newest  bool
}

func stageCommand() *cobra.Command {
	var o stageOptions
	cmd := &cobra.Command{
		Use:   "stage --registry HOST[/PATH]",
		Short: "Push every release and a catalog of them to a registry, and write manifests that install from there",
		Long: `Push every release and a catalog of them to a registry, and write manifests that install from there.

The images of programs are rebuilt from the commits of their releases and must have the recorded digests. Bundles come
from their frozen directories. Only operand images are replaced, by --map. With --registry quay.io this publishes the
releases.

DIR/olm receives the manifests to apply, DIR/stage.json the references of all images.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().StringVar(&o.registry, "registry", "", "registry to push to: a host and an optional path")
	cmd.Flags().BoolVar(&o.rename, "rename", false, "the registry does not mirror quay.io: name it in the manifests")
	cmd.Flags().StringVar(&o.operands, "map", "", "JSON file that maps official memcached images to the ones to run")
	cmd.Flags().BoolVar(&o.withUnreleased, "with-unreleased", false, "add the version under development after the releases")
	cmd.Flags().BoolVar(&o.newest, "newest", false, "build the programs of the newest version only: older ones are in the catalog, but cannot run")
	cmd.Flags().StringVar(&o.out, "out", "", "DIR (default: stage in the project's cache directory)")
	cmd.Flags().StringVar(&o.engine, "builder", "", "docker, podman or buildah (default: the first that works)")
	return cmd
}

func (o stageOptions) run(cmd *cobra.Command) error {
	s, err := o.prepare(cmd.Context())
	if err != nil {
		return err
	}
	s.Progress = func(format string, args ...any) { cmd.PrintErrf(format+"\n", args...) }
	s.Progress("building with %s, pushing to %s", s.Builder.Engine.Name(), s.Registry.Host)
	if o.withUnreleased {
		if err := addUnreleased(cmd.Context(), s); err != nil {
			return err
		}
	}
	result, err := s.Run(cmd.Context())
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	file := filepath.Join(s.Out, resultFile)
	if err := os.WriteFile(file, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	var versions []string
	for _, version := range result.Versions {
		versions = append(versions, version.Version)
	}
	cmd.Printf("staged %s in the catalog %s\n", strings.Join(versions, ", "), result.CatalogTag)
	cmd.Printf("all references are in %s\n", file)
	cmd.Printf("install with: kubectl apply -f %s\n", filepath.Join(s.Out, "olm"))
	return nil
}

// prepare checks everything that could make staging fail, before anything is built.
func (o stageOptions) prepare(ctx context.Context) (*stage.Stage, error) {
	if o.registry == "" {
		return nil, errors.New("no registry to push to: set --registry HOST[/PATH] (make: REGISTRY=HOST[/PATH]) to one that the cluster can pull from")
	}
	if strings.Contains(o.registry, "://") {
		return nil, fmt.Errorf("--registry %s: omit the scheme", o.registry)
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
	registry := project.Registry{Host: strings.TrimSuffix(o.registry, "/"), Rename: o.rename}
	s := &stage.Stage{Registry: registry, Operands: operands, NewestOnly: o.newest, Out: o.out}
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	engine, err := build.Detect(ctx, o.engine)
	if err != nil {
		return nil, err
	}
	s.Builder = build.Builder{Root: root, Engine: engine}
	return s, claim(o.out)
}

// addUnreleased adds the version under development. If it is released, it warns about changes that are not staged.
func addUnreleased(ctx context.Context, s *stage.Stage) error {
	releases, err := record.Load(s.Builder.Root)
	if err != nil {
		return err
	}
	release := releases.Find(project.Version)
	if release == nil {
		s.Unreleased = project.Version
		return nil
	}
	changed, err := checkout.Changed(ctx, s.Builder.Root, release.Commit, "operator", "go.mod", "go.sum")
	if changed {
		s.Progress("the operator has changed since the release of v%s, and the release is staged. To try the changes, "+
			"raise Version in hack/project/project.go", project.Version)
	}
	return err
}

// claim creates dir, or checks that stage created it: staging replaces its content.
func claim(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create --out: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read --out: %w", err)
	}
	created := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == resultFile })
	if len(entries) > 0 && !created {
		return fmt.Errorf("--out %s holds files that staging has not put there: choose an empty or a new directory", dir)
	}
	if err := os.WriteFile(filepath.Join(dir, resultFile), nil, 0o644); err != nil {
		return fmt.Errorf("write to --out: %w", err)
	}
	return nil
}
