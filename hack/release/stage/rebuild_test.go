package stage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/release/stage"
)

// old is a repository whose commit has the given program in hack/image.
func old(t *testing.T, script string) (root string, release record.Release) {
	t.Helper()
	root = t.TempDir()
	testkit.WriteFile(t, root, "go.mod", "module old\n\ngo 1.21\n")
	testkit.WriteFile(t, root, "hack/image/main.go", script)
	testkit.Commit(t, root)
	head := testkit.Must(checkout.ReadHead(t.Context(), root))(t)
	return root, record.Release{Version: "0.1.0", Commit: head.Commit, Go: runtime.Version()}
}

const writesItsArguments = `package main

import (
	"os"
	"strings"
)

func main() {
	if err := os.WriteFile(os.Getenv("REBUILD_ARGS"), []byte(strings.Join(os.Args[1:], " ")), 0o600); err != nil {
		os.Exit(1)
	}
}
`

// keepAs stores a random image under a name, and returns the name.
func keepAs(t *testing.T, name func(v1.Hash) string) string {
	t.Helper()
	image := testkit.Must(random.Image(10, 1))(t)
	digest := testkit.Must(image.Digest())(t)
	images := testkit.Must(oci.DefaultStore())(t)
	if err := images.Put(name(digest), image); err != nil {
		t.Fatal(err)
	}
	return name(digest)
}

// isolate gives the test a store of its own, and returns the file for the arguments of the program.
func isolate(t *testing.T) (args string) {
	t.Helper()
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	args = filepath.Join(t.TempDir(), "args")
	t.Setenv("REBUILD_ARGS", args)
	return args
}

// goCache is the current build cache. Its default follows XDG_CACHE_HOME, which isolate changes.
func goCache(t *testing.T) string {
	t.Helper()
	out := testkit.Must(exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output())(t)
	return strings.TrimSpace(string(out))
}

func TestRebuildReturnsAKeptImage(t *testing.T) {
	args := isolate(t)
	reference := keepAs(t, func(d v1.Hash) string { return "quay.io/example/x@" + d.String() })
	image, err := stage.Rebuild(t.Context(), "/nowhere", record.Release{Version: "0.1.0"}, "operator", reference)
	if err != nil || image == nil {
		t.Errorf("got %v, %v", image, err)
	}
	if _, err := os.Stat(args); err == nil {
		t.Error("it was built")
	}
}

func TestRebuildRunsTheToolsOfTheCommitAndChecksTheDigest(t *testing.T) {
	args := isolate(t)
	recorded := "quay.io/example/x@sha256:" + strings.Repeat("0", 64)
	// The image that is kept under the recorded name has another digest.
	keepAs(t, func(v1.Hash) string { return recorded })
	root, release := old(t, writesItsArguments)
	_, err := stage.Rebuild(t.Context(), root, release, "operator", recorded)
	for _, want := range []string{"operator image of v0.1.0", release.Commit, "is not the released one", runtime.Version()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	called := testkit.Must(os.ReadFile(args))(t)
	if want := "build operator --version 0.1.0 --tag " + recorded; string(called) != want {
		t.Errorf("called with %q, want %q", called, want)
	}
}

func TestRebuildReportsToolsThatFailOrLeaveNothing(t *testing.T) {
	recorded := "quay.io/example/x@sha256:" + strings.Repeat("0", 64)
	for want, script := range map[string]string{
		"did not leave it": writesItsArguments,
		"no builder works": "package main\n\nfunc main() { println(\"no builder works\"); panic(1) }\n",
	} {
		isolate(t)
		root, release := old(t, script)
		if _, err := stage.Rebuild(t.Context(), root, release, "operator", recorded); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
