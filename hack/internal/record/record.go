// Package record reads and writes catalog/releases.yaml, the list of all releases: their versions, their commits and the
// digests of their images and bundles. It also checks that a released bundle still is what was recorded.
package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"
)

// File is the path of the record, relative to the root of the checkout.
const File = "catalog/releases.yaml"

// header opens the file.
const header = `# What has been released, oldest first. Written by hack/release; never edited by hand: the bundle directories named
# here are frozen, and tests rebuild the images from these commits and expect these digests.
`

// Release is a released version.
type Release struct {
	// Version is the semantic version, without a leading v.
	Version string `json:"version"`
	// Commit is the full hash of the commit that the images were built from.
	Commit string `json:"commit"`
	// Date is the date of that commit, and createdAt of the bundle.
	Date time.Time `json:"date"`
	// Go is the toolchain that compiled the images, as `go env GOVERSION` prints it.
	Go string `json:"go"`
	// OperatorImage, ScorecardImage and BundleImage are references by digest.
	OperatorImage  string `json:"operatorImage"`
	ScorecardImage string `json:"scorecardImage"`
	BundleImage    string `json:"bundleImage"`
	// Bundle is the hash of the bundle directory. See Hash.
	Bundle string `json:"bundle"`
	// Files are the hashes of the files in the directory, so that Verify can name the one that changed.
	Files map[string]string `json:"files"`
}

// Record is the content of the file. The zero value has no releases.
type Record struct {
	Releases []Release `json:"releases"`
}

// Load reads the record of the checkout at root. A missing file means no releases.
func Load(root string) (*Record, error) {
	content, err := os.ReadFile(filepath.Join(root, File))
	if errors.Is(err, fs.ErrNotExist) {
		return &Record{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of releases: %w", err)
	}
	return Parse(content)
}

// Parse reads the content of the file. Versions must be semantic, and each must be greater than the one before.
func Parse(content []byte) (*Record, error) {
	var r Record
	if err := yaml.UnmarshalStrict(content, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	var last semver.Version
	for i, release := range r.Releases {
		version, err := semver.Parse(release.Version)
		if err != nil {
			return nil, fmt.Errorf("%s: version %q of entry %d: %w", File, release.Version, i+1, err)
		}
		if i > 0 && !version.GT(last) {
			return nil, fmt.Errorf("%s: %s comes after %s but is not greater", File, version, last)
		}
		last = version
	}
	return &r, nil
}

// Encode returns the content of the file.
func (r *Record) Encode() ([]byte, error) {
	body, err := yaml.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the record of releases: %w", err)
	}
	return append([]byte(header), body...), nil
}

// Save writes the record to the checkout at root.
func (r *Record) Save(root string) error {
	content, err := r.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, File), content, 0o644); err != nil {
		return fmt.Errorf("write the record of releases: %w", err)
	}
	return nil
}

// Find returns the release of a version, or nil if the version is not released.
func (r *Record) Find(version string) *Release {
	for i := range r.Releases {
		if r.Releases[i].Version == version {
			return &r.Releases[i]
		}
	}
	return nil
}

// Last returns the newest release, or nil if there is none.
func (r *Record) Last() *Release {
	if len(r.Releases) == 0 {
		return nil
	}
	return &r.Releases[len(r.Releases)-1]
}

// Before returns the newest release that is older than the given version, or an empty string. The version itself
// need not be released.
func (r *Record) Before(version string) (string, error) {
	v, err := semver.Parse(version)
	if err != nil {
		return "", fmt.Errorf("version %q is not a semantic version such as 1.2.3: %w", version, err)
	}
	before := ""
	for _, release := range r.Releases {
		if semver.MustParse(release.Version).LT(v) { // Parse has read the version before.
			before = release.Version
		}
	}
	return before, nil
}
