// Package making makes a release: it refuses what should not be released, then builds everything, and only when all
// of it is there writes to the checkout. It pushes nothing and commits nothing.
package making

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Plan is a release that nothing stands in the way of.
type Plan struct {
	// Version is what is released, Head the commit it is made from.
	Version string
	Head    checkout.Head
	// Channels of the catalog get it.
	Channels []string

	root     string
	releases *record.Record
}

// Check refuses a release that should not be made, and says what to do instead.
func Check(ctx context.Context, root, version string, channels []string) (*Plan, error) {
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(releases, version); err != nil {
		return nil, err
	}
	changes, err := checkout.Changes(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := checkClean(changes); err != nil {
		return nil, err
	}
	head, err := checkout.ReadHead(ctx, root)
	if err != nil {
		return nil, err
	}
	if _, err := Verify(root); err != nil {
		return nil, err
	}
	current, err := bundle.Compare(root, version)
	if err != nil {
		return nil, err
	}
	if err := current.Check(); err != nil {
		return nil, err
	}
	return &Plan{Version: version, Head: head, Channels: channels, root: root, releases: releases}, nil
}

func checkVersion(releases *record.Record, version string) error {
	v, err := semver.Parse(version)
	if err != nil {
		return fmt.Errorf("version %q is not a semantic version such as 1.2.3, without a leading v: %w", version, err)
	}
	if len(v.Build) > 0 {
		return fmt.Errorf("version %s has build metadata, which does not count in an upgrade graph: leave out +%s", version, strings.Join(v.Build, "."))
	}
	if releases.Find(version) != nil {
		return fmt.Errorf("v%s is released already, and a release is never changed: raise Version in hack/project/project.go", version)
	}
	if last := releases.Last(); last != nil {
		if before, err := semver.Parse(last.Version); err == nil && !v.GT(before) {
			return fmt.Errorf("v%s is not greater than v%s, the last release", version, last.Version)
		}
	}
	if version != project.Version {
		return fmt.Errorf("the version under development is %s, not %s: set Version in hack/project/project.go, run `go run ./hack/bundle` and commit first",
			project.Version, version)
	}
	return nil
}

func checkClean(changes []string) error {
	if len(changes) == 0 {
		return nil
	}
	const show = 5
	shown := changes
	more := ""
	if len(shown) > show {
		shown, more = shown[:show], fmt.Sprintf(" and %d more", len(changes)-show)
	}
	return fmt.Errorf("the checkout is not what its commit says (%s%s): commit or remove that first, as a release is made from a commit",
		strings.Join(shown, ", "), more)
}

// goVersion is the toolchain that compiles images: the go command in the path, which is the one that runs this
// program, because `go run` does.
func goVersion() string { return runtime.Version() }

// writeAll writes the files below the root, by name.
func writeAll(root string, files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
