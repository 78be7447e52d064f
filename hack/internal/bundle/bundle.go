// Package fresh compares the bundle directory of a version with what the source gives, and brings it up to date. A
// version that is released is compared, never written.
package bundle

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/project"
)

// Bundle is a version's bundle as the source gives it, beside what is on disk.
type Bundle struct {
	// Dir is the bundle's directory, relative to the root of the checkout.
	Dir string
	// Released says that the version is released, so that Dir is frozen.
	Released bool
	// Stale names the files that differ, sorted.
	Stale []string

	missing       bool
	version, root string
	files         checkout.Files
}

// Compare composes the bundle of a version from the source below root and compares it with its directory. A released
// directory that is not what was released is an error.
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
		if err := record.Verify(root, *release); err != nil {
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

// Released are the facts of a released version; before is the version released before it, empty for the first.
func Released(release record.Release, before string) Pins {
	return Pins{
		Version: release.Version, Replaces: before, CreatedAt: release.Date,
		OperatorImage: release.OperatorImage, ScorecardImage: release.ScorecardImage,
	}
}

// Check returns an error that names the stale files and says what to do about them; nil when there are none.
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

// Write brings the directory up to date. For a released version it does what Check does.
func (b *Bundle) Write() error {
	if b.Released {
		return b.Check()
	}
	_, err := b.files.Write(filepath.Join(b.root, b.Dir))
	return err
}
