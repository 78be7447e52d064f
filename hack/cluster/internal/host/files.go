// Package config writes configuration files. A file that already says the right thing is left alone:
// kube-proxy, for one, exits when its file is written, whatever is written.
package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Public and Private are the permissions of files that everybody, or only their owner, may read.
const (
	Public  os.FileMode = 0o644
	Private os.FileMode = 0o600
)

// WriteFile makes the file, and the folders it is in, unless it is there with that content. It replaces a file at
// once, so that nobody reads half of it.
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
