package record_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/record"
)

// released returns a new checkout with a released bundle.
func released(t *testing.T) (root, dir string, release record.Release) {
	t.Helper()
	root = t.TempDir()
	dir = filepath.Join(root, "bundles", "v1.0.0")
	files := checkout.Files{"manifests/csv.yaml": []byte("a\n"), "metadata/annotations.yaml": []byte("b\n")}
	if _, err := files.Write(dir); err != nil {
		t.Fatal(err)
	}
	release = record.Release{Version: "1.0.0"}
	release.Bundle, release.Files = record.Hash(files)
	return root, dir, release
}

func TestVerifyAcceptsAnUnchangedBundle(t *testing.T) {
	root, _, release := released(t)
	if err := release.Verify(root); err != nil {
		t.Error(err)
	}
}

func TestVerifyNamesEveryChange(t *testing.T) {
	for want, change := range map[string]func(dir string) error{
		"manifests/csv.yaml has changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "manifests", "csv.yaml"), []byte("c\n"), 0o600)
		},
		"metadata/annotations.yaml is missing": func(dir string) error {
			return os.Remove(filepath.Join(dir, "metadata", "annotations.yaml"))
		},
		"manifests/more.yaml was added": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "manifests", "more.yaml"), nil, 0o600)
		},
		"manifests/csv.yaml is missing, metadata/annotations.yaml is missing": os.RemoveAll,
	} {
		root, dir, release := released(t)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		err := release.Verify(root)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "bundles/v1.0.0") {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestVerifyFindsAContradictoryRecord(t *testing.T) {
	root, _, release := released(t)
	release.Bundle = "sha256:0"
	if err := release.Verify(root); err == nil || !strings.Contains(err.Error(), "contradicts itself") {
		t.Errorf("got %v", err)
	}
}

// People check the hash without this program.
func TestHashIsThatOfSha256sum(t *testing.T) {
	_, dir, release := released(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `find * -type f | LC_ALL=C sort | xargs sha256sum | sha256sum`)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := strings.Cut(string(out), " "); "sha256:"+got != release.Bundle {
		t.Errorf("sha256sum says %s, we say %s", got, release.Bundle)
	}
}
