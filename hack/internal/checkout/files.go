package checkout

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Files are the contents of a directory, by slash-separated path relative to it.
type Files map[string][]byte

// ReadFiles returns all files below dir. A directory that does not exist has none.
func ReadFiles(dir string) (Files, error) {
	files := Files{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file: a bundle holds nothing else", path)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the directory %s: %w", dir, err)
	}
	return files, nil
}

// Differences returns the names of the files that are not the same in both, sorted.
func (f Files) Differences(other Files) []string {
	both := Files{}
	maps.Copy(both, f)
	maps.Copy(both, other)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(both)), func(name string) bool {
		ours, inF := f[name]
		theirs, inOther := other[name]
		return inF == inOther && bytes.Equal(ours, theirs)
	})
}

// Write makes dir hold exactly these files and returns the names of those that it wrote or removed. It does not touch
// files that are up to date.
func (f Files) Write(dir string) ([]string, error) {
	have, err := ReadFiles(dir)
	if err != nil {
		return nil, err
	}
	return f.WriteOver(dir, have)
}

// WriteOver is Write for a directory in which only the files of have are replaced or removed.
func (f Files) WriteOver(dir string, have Files) ([]string, error) {
	changed := f.Differences(have)
	for _, name := range changed {
		path := filepath.Join(dir, filepath.FromSlash(name))
		content, wanted := f[name]
		if !wanted {
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("remove an outdated file: %w", err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("create the directory of %s: %w", path, err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return nil, fmt.Errorf("write a file: %w", err)
		}
	}
	return changed, nil
}
