// Package testkit is for the tests of the commands: files and commits of a checkout made for a test, golden files, an
// image registry in memory, and an image engine that runs no program.
package testkit

import (
	"flag"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Golden fails the test if got is not the content of the golden file. With -update it writes the file.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		WriteFile(t, ".", file, got)
	}
	if diff := cmp.Diff(ReadFile(t, ".", file), got); diff != "" {
		t.Errorf("%s (write it with -update), -want +got:\n%s", file, diff)
	}
}

// Must returns a function that fails the test on an error, and returns the value otherwise.
func Must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// WriteFile writes a file below root, and creates its directory.
func WriteFile(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ReadFile returns the content of a file below root.
func ReadFile(t *testing.T, root, name string) string {
	t.Helper()
	return string(Must(os.ReadFile(filepath.Join(root, name)))(t))
}

// Commit commits all files below root, and makes root a git repository first if it is none.
func Commit(t *testing.T, root string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "x"}} {
		args = append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// Registry starts an empty image registry, which stops with the test, and returns its host and port.
func Registry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
