// Package frozen tells whether a released bundle directory is still what was released, and names what is not.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
)

// Hash returns the hash of the directory, and of each file in it: sha256 of the sorted lines "<hash>  <name>\n", which
// is what `find . -type f | sort | xargs sha256sum` prints apart from the leading ./ of each name.
func Hash(files checkout.Files) (dir string, each map[string]string) {
	each = make(map[string]string, len(files))
	for name, content := range files {
		each[name] = digest(content)
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var lines strings.Builder
	for _, name := range names {
		fmt.Fprintf(&lines, "%s  %s\n", strings.TrimPrefix(each[name], "sha256:"), name)
	}
	return digest([]byte(lines.String())), each
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Verify compares the bundle directory of a release, below root, with its record.
func Verify(root string, release Release) error {
	dir := project.BundleDir(release.Version)
	files, err := checkout.ReadFiles(filepath.Join(root, dir))
	if err != nil {
		return err
	}
	hash, each := Hash(files)
	changes := compare(each, release.Files)
	if len(changes) == 0 && hash == release.Bundle {
		return nil
	}
	if len(changes) == 0 {
		return fmt.Errorf("%s: the record of v%s contradicts itself: its hashes of files do not add up to %s; restore it with git",
			File, release.Version, release.Bundle)
	}
	return fmt.Errorf("%s is released and frozen, but %s: restore it from git (`git log -- %s` shows who changed it), and make the change in the next version",
		dir, strings.Join(changes, ", "), dir)
}

// compare says, a phrase for each file, how have differs from want.
func compare(have, want map[string]string) []string {
	var changes []string
	for name, hash := range want {
		switch now, ok := have[name]; {
		case !ok:
			changes = append(changes, name+" is missing")
		case now != hash:
			changes = append(changes, name+" has changed")
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			changes = append(changes, name+" was added")
		}
	}
	slices.Sort(changes)
	return changes
}
