// Package making makes a release and verifies releases. It checks everything first, then builds everything, and then
// writes to the checkout. It pushes and commits nothing.
package making

import (
	"context"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Plan is a release that has passed all checks.
type Plan struct {
	// Version is the version to release, from the commit Head.
	Version string
	Head    checkout.Head
	// Channels are the channels of the catalog that get the release.
	Channels []string

	root     string
	releases *record.Record
}

// Check returns an error if the version must not be released, and says what to do.
func Check(ctx context.Context, root, version string, channels []string) (*Plan, error) {
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(releases, version); err != nil {
		return nil, err
	}
	if err := checkClean(ctx, root); err != nil {
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
		return fmt.Errorf("version %s has build metadata, which upgrades ignore: omit +%s", version, strings.Join(v.Build, "."))
	}
	if releases.Find(version) != nil {
		return fmt.Errorf("v%s is released already, and a release never changes: raise Version in hack/project/project.go", version)
	}
	if last := releases.Last(); last != nil && !v.GT(semver.MustParse(last.Version)) {
		return fmt.Errorf("v%s is not greater than v%s, the last release", version, last.Version)
	}
	if version != project.Version {
		return fmt.Errorf("the version under development is %s, not %s: set Version in hack/project/project.go, run `go run ./hack/bundle` and commit first",
			project.Version, version)
	}
	return nil
}

func checkClean(ctx context.Context, root string) error {
	changes, err := checkout.Changes(ctx, root)
	if err != nil || len(changes) == 0 {
		return err
	}
	const limit = 5
	more := ""
	if len(changes) > limit {
		more = fmt.Sprintf(" and %d more", len(changes)-limit)
		changes = changes[:limit]
	}
	return fmt.Errorf("the checkout differs from its commit (%s%s): commit or remove the changes first, because a release is made from a commit",
		strings.Join(changes, ", "), more)
}
