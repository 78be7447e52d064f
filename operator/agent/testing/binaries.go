package testing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rootsVariable names directories, separated by colons, into each of which a Debian package of memcached was unpacked
// beside those of the libraries that it needs. `make test` has them made by the verb memcached of hack/cluster.
const rootsVariable = "MEMCACHED_ROOTS"

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

// All returns every memcached that is there: in MEMCACHED_ROOTS, or without that in PATH. Without any, the test
// is skipped.
func All(t testing.TB) []Runner {
	t.Helper()
	all := find(t)
	if len(all) == 0 {
		t.Skipf("no memcached: install it, or export %s=$(go run -C hack/cluster . memcached)", rootsVariable)
	}
	return all
}

func find(t testing.TB) []Runner {
	t.Helper()
	var all []Runner
	for _, root := range filepath.SplitList(os.Getenv(rootsVariable)) {
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

func describe(t testing.TB, command []string) Runner {
	t.Helper()
	output, err := exec.Command(command[0], append(command[1:len(command):len(command)], "-V")...).Output()
	if err != nil {
		t.Fatalf("run %s -V: %v", strings.Join(command, " "), err)
	}
	return Runner{Version: strings.TrimPrefix(strings.TrimSpace(string(output)), "memcached "), command: command}
}
