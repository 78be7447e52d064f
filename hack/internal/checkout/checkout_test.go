package checkout_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/internal/testkit"
)

// repository has one commit with the files operator/a and .gitignore.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	testkit.WriteFile(t, root, "operator/a", "one")
	testkit.WriteFile(t, root, ".gitignore", "*.tmp\n")
	testkit.Commit(t, root)
	return root
}

func TestChangesListsWhatGitSees(t *testing.T) {
	root := repository(t)
	if changes, err := checkout.Changes(t.Context(), root); err != nil || len(changes) > 0 {
		t.Errorf("right after a commit: %v, %v", changes, err)
	}
	testkit.WriteFile(t, root, "operator/a", "two")
	testkit.WriteFile(t, root, "new/b", "")
	testkit.WriteFile(t, root, "c.tmp", "")
	changes, err := checkout.Changes(t.Context(), root)
	if err != nil || !slices.Equal(changes, []string{"M operator/a", "?? new/b"}) {
		t.Errorf("got %q, %v", changes, err)
	}
}

func TestChangedLooksOnlyAtThePaths(t *testing.T) {
	root := repository(t)
	head := testkit.Must(checkout.ReadHead(t.Context(), root))(t)
	testkit.WriteFile(t, root, "operator/a", "two")
	for path, want := range map[string]bool{"operator": true, ".gitignore": false} {
		if got, err := checkout.Changed(t.Context(), root, head.Commit, path); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", path, got, err, want)
		}
	}
	if _, err := checkout.Changed(t.Context(), root, "nonsense", "operator"); err == nil {
		t.Error("an unknown commit is no error")
	}
}

func TestExportWritesTheCommitAndCopyTheWorkingTree(t *testing.T) {
	root := repository(t)
	head := testkit.Must(checkout.ReadHead(t.Context(), root))(t)
	if len(head.Commit) != 40 || head.Date.IsZero() {
		t.Errorf("head is %+v", head)
	}
	testkit.WriteFile(t, root, "operator/a", "two")
	testkit.WriteFile(t, root, "b", "new")
	testkit.WriteFile(t, root, "c.tmp", "ignored")

	exported, copied := filepath.Join(t.TempDir(), "e"), filepath.Join(t.TempDir(), "c")
	if err := checkout.Export(t.Context(), root, head.Commit, exported); err != nil {
		t.Fatal(err)
	}
	if err := checkout.Copy(t.Context(), root, copied); err != nil {
		t.Fatal(err)
	}
	if got := testkit.ReadFile(t, exported, "operator/a"); got != "one" {
		t.Errorf("exported: %q", got)
	}
	if _, err := os.Stat(filepath.Join(exported, "b")); err == nil {
		t.Error("the export has a file that is not in the commit")
	}
	if got := testkit.ReadFile(t, copied, "operator/a") + testkit.ReadFile(t, copied, "b"); got != "twonew" {
		t.Errorf("copied: %q", got)
	}
	if _, err := os.Stat(filepath.Join(copied, "c.tmp")); err == nil {
		t.Error("the copy has a file that git ignores")
	}
}

func TestMissingCommitIsExplained(t *testing.T) {
	err := checkout.Export(t.Context(), repository(t), strings.Repeat("0", 40), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("got %v", err)
	}
	if _, err := checkout.ReadHead(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is it a git checkout") {
		t.Errorf("outside a repository: %v", err)
	}
}

func TestRootIsFoundFromSubdirectories(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"go.mod", "bundle.Dockerfile", "hack/tool/go.mod"} {
		testkit.WriteFile(t, root, name, "")
	}
	t.Chdir(filepath.Join(root, "hack", "tool"))
	got, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.EvalSymlinks(root); got != root && got != want {
		t.Errorf("got %s, want %s", got, root)
	}
	t.Chdir(t.TempDir())
	if _, err := checkout.Root(); err == nil || !strings.Contains(err.Error(), "not inside a checkout") {
		t.Errorf("outside: %v", err)
	}
}
