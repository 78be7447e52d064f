package testing

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// rootsVariable names directories, separated by colons, into each of which a Debian package of memcached was unpacked
// beside those of the libraries that it needs.
const rootsVariable = "MEMCACHED_ROOTS"

// binary is one memcached that can be run.
type binary struct {
	version string
	command []string
}

// Each runs test with every memcached that is there. It makes the test run in parallel with others.
func Each(t *testing.T, test func(t *testing.T, run Runner)) {
	t.Helper()
	t.Parallel()
	for _, run := range All(t) {
		t.Run(run.Version, func(t *testing.T) {
			t.Parallel()
			test(t, run)
		})
	}
}

// All returns every memcached that is there: in MEMCACHED_ROOTS, else in the packages that `make cluster` keeps, else in
// PATH. Without any, the test is skipped.
func All(t *testing.T) []Runner {
	t.Helper()
	var all []Runner
	for _, binary := range find(t) {
		all = append(all, Runner{Version: binary.version, command: binary.command})
	}
	if len(all) == 0 {
		t.Skipf("no memcached: run `make cluster` once, install the package memcached, or set %s", rootsVariable)
	}
	return all
}

func find(t *testing.T) []binary {
	t.Helper()
	roots := filepath.SplitList(os.Getenv(rootsVariable))
	if len(roots) == 0 {
		roots = unpacked(t)
	}
	var all []binary
	for _, root := range roots {
		command, err := inRoot(root)
		if err != nil {
			t.Fatalf("%s: %v", rootsVariable, err)
		}
		all = append(all, describe(t, command))
	}
	if path, err := exec.LookPath("memcached"); err == nil && len(all) == 0 {
		all = append(all, describe(t, []string{path}))
	}
	return all
}

// unpacked returns the roots into which the packages of `make cluster` are unpacked, none if there are no packages. They
// stay, beside the packages, for the next tests.
func unpacked(t *testing.T) []string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if home, err := os.UserHomeDir(); cache == "" && err == nil {
		cache = filepath.Join(home, ".cache")
	}
	memcacheds, _ := filepath.Glob(filepath.Join(cache, "memcached-operator/cluster/debs/*/memcached_*.deb"))
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		return nil
	}
	var roots []string
	for _, memcached := range memcacheds {
		packages, _ := filepath.Glob(filepath.Join(filepath.Dir(memcached), "*.deb"))
		names := sha256.Sum256([]byte(strings.Join(packages, "\n")))
		root := filepath.Join(cache, "memcached-operator/unpacked", fmt.Sprintf("%x", names[:8]))
		if err := unpack(packages, root); err != nil {
			t.Fatalf("unpack memcached for tests: %v", err)
		}
		roots = append(roots, root)
	}
	return roots
}

// unpack makes root hold what is in packages, in one step, because tests of other packages do the same meanwhile.
func unpack(packages []string, root string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(root), "unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	for _, file := range packages {
		if output, err := exec.Command("dpkg-deb", "--extract", file, temporary).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", file, err, output)
		}
	}
	if err := os.Rename(temporary, root); err != nil && !errors.Is(err, os.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

// inRoot returns how memcached of an unpacked root is run: by the root's own loader, with its own libraries.
func inRoot(root string) ([]string, error) {
	var libraries []string
	loader := ""
	for _, directory := range []string{"usr/lib", "lib"} {
		found, _ := filepath.Glob(filepath.Join(root, directory, "*-linux-gnu"))
		libraries = append(libraries, found...)
		for _, library := range found {
			if loaders, _ := filepath.Glob(filepath.Join(library, "ld-linux-*.so.*")); len(loaders) > 0 {
				loader = loaders[0]
			}
		}
	}
	memcached := filepath.Join(root, "usr/bin/memcached")
	if _, err := os.Stat(memcached); err != nil || loader == "" {
		return nil, fmt.Errorf("%s lacks usr/bin/memcached, or the loader of its libc", root)
	}
	return []string{loader, "--library-path", strings.Join(libraries, ":"), memcached}, nil
}

func describe(t *testing.T, command []string) binary {
	t.Helper()
	output, err := exec.Command(command[0], append(command[1:len(command):len(command)], "-V")...).Output()
	if err != nil {
		t.Fatalf("run %s -V: %v", strings.Join(command, " "), err)
	}
	return binary{version: strings.TrimPrefix(strings.TrimSpace(string(output)), "memcached "), command: command}
}
