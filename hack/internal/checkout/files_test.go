package checkout_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/checkout"
)

func TestWriteTouchesOnlyWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	before := checkout.Files{"keep": []byte("1"), "change": []byte("1"), "gone/away": []byte("1")}
	if _, err := before.Write(dir); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1000, 0)
	if err := os.Chtimes(filepath.Join(dir, "keep"), old, old); err != nil {
		t.Fatal(err)
	}
	after := checkout.Files{"keep": []byte("1"), "change": []byte("2"), "sub/new": []byte("3")}
	changed, err := after.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"change", "gone/away", "sub/new"}, changed); diff != "" {
		t.Errorf("changed files, -want +got:\n%s", diff)
	}
	have, err := checkout.ReadFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(have, after, func(a, b []byte) bool { return string(a) == string(b) }) {
		t.Errorf("the directory holds %v, want %v", have, after)
	}
	info, err := os.Stat(filepath.Join(dir, "keep"))
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(old) {
		t.Error("a file that was right already was written again")
	}
	if changed, err = after.Write(dir); err != nil || len(changed) > 0 {
		t.Errorf("a second run changed %v (%v)", changed, err)
	}
}

func TestReadRefusesALinkAndTakesAMissingDirectoryAsEmpty(t *testing.T) {
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
