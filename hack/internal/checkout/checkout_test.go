package checkout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/internal/checkout"
)

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	args = append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// repository has one commit with the files operator/a and .gitignore.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	git(t, root, "init", "-q", "-b", "main")
	write(t, root, "operator/a", "one")
	write(t, root, ".gitignore", "*.tmp\n")
	git(t, root, "add", "-A")
	git(t, root, "commit", "-qm", "first")
	return root
}

func TestChangesAreThoseThatGitSees(t *testing.T) {
	root := repository(t)
	if changes, err := checkout.Changes(t.Context(), root); err != nil || len(changes) > 0 {
		t.Errorf("right after a commit: %v, %v", changes, err)
	}
	write(t, root, "operator/a", "two")
	write(t, root, "new/b", "")
	write(t, root, "c.tmp", "")
	changes, err := checkout.Changes(t.Context(), root)
	if err != nil || !slices.Equal(changes, []string{"M operator/a", "?? new/b"}) {
		t.Errorf("got %q, %v", changes, err)
	}
}

func TestChangedLooksOnlyAtThePaths(t *testing.T) {
	root := repository(t)
	head, err := checkout.ReadHead(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, "operator/a", "two")
	for path, want := range map[string]bool{"operator": true, ".gitignore": false} {
		if got, err := checkout.Changed(t.Context(), root, head.Commit, path); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", path, got, err, want)
		}
	}
	if _, err := checkout.Changed(t.Context(), root, "nonsense", "operator"); err == nil {
		t.Error("an unknown commit is no error")
	}
}

func TestExportGivesTheCommitAndCopyTheFilesAsTheyAre(t *testing.T) {
	root := repository(t)
	head, err := checkout.ReadHead(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(head.Commit) != 40 || head.Date.IsZero() {
		t.Errorf("head is %+v", head)
	}
	write(t, root, "operator/a", "two")
	write(t, root, "b", "new")
	write(t, root, "c.tmp", "ignored")

	exported, copied := filepath.Join(t.TempDir(), "e"), filepath.Join(t.TempDir(), "c")
	if err := checkout.Export(t.Context(), root, head.Commit, exported); err != nil {
		t.Fatal(err)
	}
	if err := checkout.Copy(t.Context(), root, copied); err != nil {
		t.Fatal(err)
	}
	if got := read(t, exported, "operator/a"); got != "one" {
		t.Errorf("exported: %q", got)
	}
	if _, err := os.Stat(filepath.Join(exported, "b")); err == nil {
		t.Error("the export has a file that is not in the commit")
	}
	if got := read(t, copied, "operator/a") + read(t, copied, "b"); got != "twonew" {
		t.Errorf("copied: %q", got)
	}
	if _, err := os.Stat(filepath.Join(copied, "c.tmp")); err == nil {
		t.Error("the copy has a file that git ignores")
	}
}

func TestACommitThatIsNotThereIsExplained(t *testing.T) {
	err := checkout.Export(t.Context(), repository(t), strings.Repeat("0", 40), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("got %v", err)
	}
	if _, err := checkout.ReadHead(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is it a git checkout") {
		t.Errorf("outside a repository: %v", err)
	}
}

func TestRootIsFoundFromBelow(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "")
	write(t, root, "bundle.Dockerfile", "")
	write(t, root, "hack/tool/go.mod", "")
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
