package checkout

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Files are the contents of a directory, by slash-separated path relative to it.
type Files map[string][]byte

// ReadFiles returns the files below dir. A directory that does not exist has none.
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
			return fmt.Errorf("locate %s below %s: %w", path, dir, err)
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the directory %s: %w", dir, err)
	}
	return files, nil
}

// Differences names the files that are not the same in both, sorted.
func (f Files) Differences(other Files) []string {
	var names []string
	for name, content := range f {
		if theirs, ok := other[name]; !ok || !bytes.Equal(content, theirs) {
			names = append(names, name)
		}
	}
	for name := range other {
		if _, ok := f[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Write makes dir hold exactly these files and returns the names of those that it wrote or removed. Files that are
// right already are not touched, so their modification time says when they last changed.
func (f Files) Write(dir string) ([]string, error) {
	have, err := ReadFiles(dir)
	if err != nil {
		return nil, err
	}
	changed := f.Differences(have)
	for _, name := range changed {
		path := filepath.Join(dir, filepath.FromSlash(name))
		content, wanted := f[name]
		if !wanted {
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("remove a file that is no longer part of it: %w", err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("make room for %s: %w", path, err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return nil, fmt.Errorf("write a file of the bundle: %w", err)
		}
	}
	return changed, nil
}
