package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Public and Private are the permissions of files that everybody, or only their owner, may read.
const (
	Public  os.FileMode = 0o644
	Private os.FileMode = 0o600
)

// WriteFile writes a configuration file in one step, and makes the folders above it. It leaves a file with that content
// alone: kube-proxy, for example, exits whenever its configuration is written.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("put a configuration in place: %w", err)
	}
	return nil
}

// temporaryPrefix begins the names of the folders that MakeDir fills.
const temporaryPrefix = ".building-"

// MakeDir makes a folder whose content appears in one step: fill writes it to a temporary folder beside it. It is no error
// if another run of this program has made the folder in the meantime.
func MakeDir(dir string, fill func(temporary string) error) error {
	const mode = 0o755
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, mode); err != nil {
		return fmt.Errorf("make the folder of %s: %w", dir, err)
	}
	removeAbandoned(parent)
	temporary, err := os.MkdirTemp(parent, temporaryPrefix+filepath.Base(dir)+"-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(temporary)
	if err := fill(temporary); err != nil {
		return err
	}
	if err := os.Chmod(temporary, mode); err != nil {
		return fmt.Errorf("set the permissions of %s: %w", temporary, err)
	}
	if err := os.Rename(temporary, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put %s in place: %w", dir, err)
	}
	return nil
}

// removeAbandoned deletes the temporary folders of runs that were killed. It keeps those that may still be in use.
func removeAbandoned(parent string) {
	const old = time.Hour
	folders, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"*")) // fails only for a bad pattern
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > old {
			_ = os.RemoveAll(folder) // it only takes space
		}
	}
}
