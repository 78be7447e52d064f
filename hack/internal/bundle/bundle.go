// Package bundle composes the OLM bundle of a version from the operator's source, compares it with the directory in
// bundles/, and validates bundles. It works in memory first, so that writing a bundle and checking that it is current
// are the same comparison. The ClusterServiceVersion is composed in package csv.
package bundle

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Bundle is the bundle of a version as the source gives it, compared with its directory.
type Bundle struct {
	// Dir is the bundle's directory, relative to the root of the checkout.
	Dir string
	// Released says that the version is released, so Dir must not change.
	Released bool
	// Stale names the files that differ, sorted.
	Stale []string

	missing       bool
	version, root string
	files         checkout.Files
}

// Compare composes the bundle of a version from the source below root and compares it with its directory. A released
// directory that differs from its record is an error.
func Compare(root, version string) (*Bundle, error) {
	releases, err := record.Load(root)
	if err != nil {
		return nil, err
	}
	before, err := releases.Before(version)
	if err != nil {
		return nil, err
	}
	pins := Unreleased(version, before)
	release := releases.Find(version)
	if release != nil {
		if err := release.Verify(root); err != nil {
			return nil, err
		}
		pins = Released(*release, before)
	}
	files, err := Compose(root, pins)
	if err != nil {
		return nil, err
	}
	dir := project.BundleDir(version)
	have, err := checkout.ReadFiles(filepath.Join(root, dir))
	if err != nil {
		return nil, err
	}
	return &Bundle{
		Dir: dir, Released: release != nil, Stale: files.Differences(have), missing: len(have) == 0,
		version: version, root: root, files: files,
	}, nil
}

// Unreleased returns the pins of a version under development, which follows the version before (empty for the first).
// It names images by tag.
func Unreleased(version, before string) csv.Pins {
	return csv.Pins{
		Version: version, Replaces: before, CreatedAt: time.Unix(0, 0),
		OperatorImage:  project.Tagged(project.OperatorImage, version),
		ScorecardImage: project.Tagged(project.ScorecardImage, version),
	}
}

// Released returns the pins of a release, which follows the version before (empty for the first).
func Released(release record.Release, before string) csv.Pins {
	return csv.Pins{
		Version: release.Version, Replaces: before, CreatedAt: release.Date,
		OperatorImage: release.OperatorImage, ScorecardImage: release.ScorecardImage,
	}
}

// Check returns an error if files are stale. It names them, and says what to do.
func (b *Bundle) Check() error {
	if len(b.Stale) == 0 {
		return nil
	}
	if b.missing {
		return fmt.Errorf("%s does not exist yet: run `go run ./hack/bundle`", b.Dir)
	}
	names := strings.Join(b.Stale, ", ")
	if b.Released {
		return fmt.Errorf("v%s is released, and the source now gives another bundle than %s (%s): "+
			"raise Version in hack/project/project.go, then run `go run ./hack/bundle`", b.version, b.Dir, names)
	}
	return fmt.Errorf("%s is not what the source gives (%s): run `go run ./hack/bundle`", b.Dir, names)
}

// Write updates the directory. It never writes a released one, and returns the error of Check instead.
func (b *Bundle) Write() error {
	if b.Released {
		return b.Check()
	}
	_, err := b.files.Write(filepath.Join(b.root, b.Dir))
	return err
}
