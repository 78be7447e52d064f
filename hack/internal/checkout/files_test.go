package checkout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/testkit"
)

func TestWriteTouchesOnlyWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	before := checkout.Files{"keep": []byte("1"), "change": []byte("1"), "gone/away": []byte("1")}
	testkit.Must(before.Write(dir))(t)
	old := time.Unix(1000, 0)
	if err := os.Chtimes(filepath.Join(dir, "keep"), old, old); err != nil {
		t.Fatal(err)
	}
	after := checkout.Files{"keep": []byte("1"), "change": []byte("2"), "sub/new": []byte("3")}
	changed := testkit.Must(after.Write(dir))(t)
	if diff := cmp.Diff([]string{"change", "gone/away", "sub/new"}, changed); diff != "" {
		t.Errorf("changed files, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(after, testkit.Must(checkout.ReadFiles(dir))(t)); diff != "" {
		t.Errorf("files of the directory, -want +got:\n%s", diff)
	}
	if info := testkit.Must(os.Stat(filepath.Join(dir, "keep")))(t); !info.ModTime().Equal(old) {
		t.Error("a file that was up to date was written again")
	}
	if changed, err := after.Write(dir); err != nil || len(changed) > 0 {
		t.Errorf("a second run changed %v (%v)", changed, err)
	}
}

func TestReadFilesRefusesLinksAndTakesAMissingDirectoryAsEmpty(t *testing.T) {
	dir := t.TempDir()
	if files, err := checkout.ReadFiles(filepath.Join(dir, "none")); err != nil || len(files) > 0 {
		t.Errorf("a directory that does not exist: %v, %v", files, err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := checkout.ReadFiles(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a symbolic link: %v", err)
	}
}
