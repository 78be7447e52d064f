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
	"github.com/example/memcached-operator/hack/oci"
	"github.com/example/memcached-operator/hack/release/stage"
)

// old is a repository whose commit has a hack/image that only writes down how it was called.
func old(t *testing.T, script string) (root string, release record.Release) {
	t.Helper()
	root = t.TempDir()
	for name, content := range map[string]string{
		"go.mod":             "module old\n\ngo 1.21\n",
		"hack/image/main.go": script,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "x"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	head, err := checkout.ReadHead(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
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

// keptAs keeps an image under a name, and returns the name.
func keptAs(t *testing.T, name func(v1.Hash) string) string {
	t.Helper()
	image, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	images, err := oci.DefaultStore()
	if err != nil {
		t.Fatal(err)
	}
	if err := images.Put(name(digest), image); err != nil {
		t.Fatal(err)
	}
	return name(digest)
}

// isolate keeps the test away from the user's images, and from a build cache that has seen this program before.
func isolate(t *testing.T) (args string) {
	t.Helper()
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	args = filepath.Join(t.TempDir(), "args")
	t.Setenv("REBUILD_ARGS", args)
	return args
}

// goCache is the build cache as it is now: its default place follows XDG_CACHE_HOME, which isolate moves.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestAnImageThatIsKeptIsNotBuiltAgain(t *testing.T) {
	args := isolate(t)
	reference := keptAs(t, func(d v1.Hash) string { return "quay.io/example/x@" + d.String() })
	image, err := stage.Rebuild(t.Context(), "/nowhere", record.Release{Version: "0.1.0"}, "operator", reference)
	if err != nil || image == nil {
		t.Errorf("got %v, %v", image, err)
	}
	if _, err := os.Stat(args); err == nil {
		t.Error("it was built")
	}
}

func TestTheToolsOfTheCommitBuildItAndTheDigestMustMatch(t *testing.T) {
	args := isolate(t)
	recorded := "quay.io/example/x@sha256:" + strings.Repeat("0", 64)
	// What the commit's tools leave under the recorded name has another digest.
	keptAs(t, func(v1.Hash) string { return recorded })
	root, release := old(t, writesItsArguments)
	_, err := stage.Rebuild(t.Context(), root, release, "operator", recorded)
	for _, want := range []string{"operator image of v0.1.0", release.Commit, "is not the released one", runtime.Version()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	called, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	if want := "build operator --version 0.1.0 --tag " + recorded; string(called) != want {
		t.Errorf("called with %q, want %q", called, want)
	}
}

func TestToolsThatLeaveNothingOrFailAreReported(t *testing.T) {
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
