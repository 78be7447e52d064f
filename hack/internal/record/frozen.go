package record

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
)

// Hash returns the hash of a directory and of each file in it. The hash of the directory is the sha256 of the sorted
// lines "<hash>  <name>\n", which `find * -type f | sort | xargs sha256sum` prints.
func Hash(files checkout.Files) (dir string, each map[string]string) {
	each = make(map[string]string, len(files))
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := fmt.Sprintf("%x", sha256.Sum256(files[name]))
		each[name] = "sha256:" + sum
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(lines.String()))), each
}

// Verify compares the bundle directory of the release, in the checkout at root, with the record. The error names every
// file that differs.
func (r Release) Verify(root string) error {
	dir := project.BundleDir(r.Version)
	files, err := checkout.ReadFiles(filepath.Join(root, dir))
	if err != nil {
		return err
	}
	hash, each := Hash(files)
	changes := compare(each, r.Files)
	if len(changes) == 0 && hash == r.Bundle {
		return nil
	}
	if len(changes) == 0 {
		return fmt.Errorf("%s: the record of v%s contradicts itself: the hashes of its files do not give %s; restore it with git",
			File, r.Version, r.Bundle)
	}
	return fmt.Errorf("%s is released and frozen, but %s: restore it from git (`git log -- %s` shows who changed it), and make the change in the next version",
		dir, strings.Join(changes, ", "), dir)
}

// compare says how the files differ from the recorded ones, a phrase for each file.
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
